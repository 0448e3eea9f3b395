/** The received microphones of a room: of each participant the track that was published last, as frames of 20 ms. */
import { AudioStream, type RemoteTrack } from '@livekit/rtc-node'
import { FRAME_MS } from '../audio/frames.ts'

interface Participant {
  /** Tracks in the order in which they were subscribed. */
  tracks: RemoteTrack[]
  heard: { track: RemoteTrack; stop(): void } | null
}

export class Microphones {
  readonly #sampleRate: number
  readonly #onSound: (identity: string, pcm: Int16Array) => void
  readonly #participants = new Map<string, Participant>()

  constructor(sampleRate: number, onSound: (identity: string, pcm: Int16Array) => void) {
    this.#sampleRate = sampleRate
    this.#onSound = onSound
  }

  add(identity: string, track: RemoteTrack): void {
    const participant = this.#participants.get(identity) ?? { tracks: [], heard: null }
    this.#participants.set(identity, participant)
    participant.tracks.push(track)
    this.#choose(identity, participant)
  }

  remove(identity: string, track: RemoteTrack): void {
    const participant = this.#participants.get(identity)
    if (!participant) return
    participant.tracks = participant.tracks.filter(other => other !== track)
    this.#choose(identity, participant)
  }

  forget(identity: string): void {
    this.#participants.get(identity)?.heard?.stop()
    this.#participants.delete(identity)
  }

  close(): void {
    for (const identity of [...this.#participants.keys()]) this.forget(identity)
  }

  #choose(identity: string, participant: Participant): void {
    const track = participant.tracks.at(-1)
    if (participant.heard?.track === track) return
    participant.heard?.stop()
    participant.heard = track ? { track, stop: this.#read(identity, track) } : null
  }

  #read(identity: string, track: RemoteTrack): () => void {
    const options = { sampleRate: this.#sampleRate, numChannels: 1, frameSizeMs: FRAME_MS }
    let stop = () => {}
    const listen = async () => {
      const reader = new AudioStream(track, options).getReader()
      let stopped = false
      stop = () => {
        stopped = true
        void reader.cancel().catch(() => {})
      }
      for (;;) {
        const { done, value } = await reader.read()
        if (done || stopped) return
        this.#onSound(identity, value.data)
      }
    }
    void listen().catch(() => {}) // the track ended before or while it was read
    return () => stop()
  }
}
