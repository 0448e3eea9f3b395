/**
 * Replaces the agent in a room: repeats what it received after a pause, and reports it in transcription streams and
 * states like LiveKit's own agents. For tests of pages and clients, which do not depend on the agent.
 */
import { rms } from '../../media/audio/frames.ts'
import type { TestControl } from './control.ts'
import type { TestLiveKit } from './livekit.ts'
import { type HeardFrame, joinRoom, type RoomPeer } from './room-peer.ts'

const LOUD = 300
const PAUSE_MS = 700

export interface EchoAgent extends RoomPeer {
  /** Samples at 48 kHz that it has sent. */
  answered(): number
}

export interface EchoWords {
  /** Interim transcripts of the caller, growing. */
  caller: readonly string[]
  agent: string
}

export async function joinEchoAgent(
  livekit: TestLiveKit,
  room: string,
  words: EchoWords = { caller: ['hello', 'hello there'], agent: 'Hello there to you.' },
): Promise<EchoAgent> {
  const token = await livekit.token({ room, identity: 'agent-echo', grant: { agent: true } })
  const peer = await joinRoom(livekit.url, token)
  await state(peer, 'listening')
  let answered = 0
  let turns = 0
  void (async () => {
    for (let from = 0; peer.endedBy() === null; from = peer.heard.length) {
      const utterance = await nextUtterance(peer, from).catch(() => null)
      if (!utterance) return
      const turn = ++turns
      await told(peer, utterance[0]!.from, `user-${turn}`, words.caller)
      await state(peer, 'speaking')
      const agentWords = told(peer, peer.identity, `agent-${turn}`, [words.agent])
      for (const { samples } of utterance) answered += samples.length
      await peer.say(joined(utterance))
      await agentWords
      await state(peer, 'listening')
    }
  })().catch(() => {}) // the room ended meanwhile
  return { ...peer, answered: () => answered }
}

const BEAT_MS = 1000

/** Sends heartbeats of an engine with a free slot, until the interval is cleared. */
export function beatOf(control: TestControl): NodeJS.Timeout {
  const engine = control.engine()
  const beat = () => void engine.heartbeat({ calls: 0, capacity: 1, stt_ready: true, rooms: true })
  beat()
  return setInterval(beat, BEAT_MS)
}

const state = (peer: RoomPeer, value: string) => peer.room.localParticipant!.setAttributes({ 'lk.agent.state': value })

/** One stream per interim text, the last one final. */
async function told(peer: RoomPeer, whose: string, segmentId: string, wordings: readonly string[]): Promise<void> {
  for (const [index, text] of wordings.entries()) {
    const writer = await peer.room.localParticipant!.streamText({
      topic: 'lk.transcription',
      senderIdentity: whose,
      attributes: {
        'lk.segment_id': segmentId,
        'lk.transcription_final': String(index === wordings.length - 1),
      },
    })
    await writer.write(text)
    await writer.close()
  }
}

/** From the first loud frame until a pause. */
async function nextUtterance(peer: RoomPeer, from: number): Promise<HeardFrame[]> {
  const loud = (frame: HeardFrame) => rms(frame.samples) > LOUD
  const all = () => peer.heard.slice(from)
  await peer.wait(
    () => {
      const heard = all()
      const last = heard.findLast(loud)
      return last && heard.at(-1)!.atMs - last.atMs > PAUSE_MS
    },
    'somebody to speak and pause',
    600_000,
  )
  const heard = all()
  return heard.slice(heard.findIndex(loud), heard.findLastIndex(loud) + 1)
}

function joined(frames: HeardFrame[]): Int16Array {
  const all = new Int16Array(frames.reduce((sum, { samples }) => sum + samples.length, 0))
  let at = 0
  for (const { samples } of frames) {
    all.set(samples, at)
    at += samples.length
  }
  return all
}
