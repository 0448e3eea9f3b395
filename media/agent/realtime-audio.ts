/**
 * One answer of a speech-to-speech model as a queue that the leg pulls from. It alone knows what was played. It keeps
 * µ-law bytes beside the samples, so that a PCMU leg can send them unchanged.
 */
import { FRAME_MS, frameSamples } from '../audio/frames.ts'
import { SILENCE } from '../audio/g711.ts'
import { heardText } from './heard.ts'

interface Item {
  id: string
  text: string
  chunks: { pcm: Int16Array; ulaw: Uint8Array | null }[]
  buffered: number
  written: number
  played: number
  complete: boolean
}

export interface LiveFrame {
  pcm: Int16Array
  ulaw: Uint8Array | null
}

/** The played part of an answer. */
export interface LiveSpoken {
  text: string
  heardText: string
  heardMs: number
  startedMs: number
  endedMs: number
  /** Items that were not played to their end, with the milliseconds played. */
  unheard: { item: string; heardMs: number }[]
}

const AUDIBLE = 150

export class RealtimeAudio {
  readonly #frame: number
  readonly #perMs: number
  readonly #onAudible: (atMs: number) => void
  #items: Item[] = []
  #startedMs: number | null = null
  #endedMs = 0
  #audible = false
  /** No more output of this answer follows. */
  #complete = false

  constructor(sampleRate: number, onAudible: (atMs: number) => void) {
    this.#frame = frameSamples(sampleRate)
    this.#perMs = sampleRate / 1000
    this.#onAudible = onAudible
  }

  /** True from the first audio or text until `close`. */
  get active(): boolean {
    return this.#items.length > 0
  }

  get begun(): boolean {
    return this.#startedMs !== null
  }

  /** True when everything received was played and no more follows. */
  get finished(): boolean {
    return this.active && this.#complete && this.#items.every(item => item.buffered === 0)
  }

  write(id: string, pcm: Int16Array, ulaw: Uint8Array | null): void {
    const item = this.#item(id)
    item.chunks.push({ pcm, ulaw })
    item.buffered += pcm.length
    item.written += pcm.length
  }

  addWords(id: string, words: string): void {
    this.#item(id).text += words
  }

  /** Marks an item as complete: no more audio of it follows. */
  endItem(id: string): void {
    const item = this.#items.find(candidate => candidate.id === id)
    if (item) item.complete = true
  }

  end(): void {
    this.#complete = true
    for (const item of this.#items) item.complete = true
  }

  pull(atMs: number): LiveFrame | null {
    const item = this.#items.find(({ buffered, complete }) => buffered > 0 || !complete)
    if (!item || item.buffered === 0 || (item.buffered < this.#frame && !item.complete)) return null
    const frame = this.#take(item)
    this.#startedMs ??= atMs
    this.#endedMs = atMs + FRAME_MS
    if (!this.#audible && frame.pcm.some(sample => Math.abs(sample) > AUDIBLE)) {
      this.#audible = true
      this.#onAudible(atMs)
    }
    return frame
  }

  /** Returns what was played and drops the rest; null when nothing was received. */
  close(nowMs: number): LiveSpoken | null {
    const items = this.#items
    if (items.length === 0) return null
    const ms = (samples: number) => samples / this.#perMs
    const heard = items.map(({ text, played, written, complete }) =>
      heardText({ text, playedMs: ms(played), totalMs: complete ? ms(written) : null }),
    )
    this.#items = []
    return {
      text: items.map(item => item.text.trim()).join(' '),
      heardText: heard.filter(text => text !== '').join(' '),
      heardMs: Math.round(ms(items.reduce((sum, item) => sum + item.played, 0))),
      startedMs: this.#startedMs ?? nowMs,
      endedMs: this.#startedMs === null ? nowMs : this.#endedMs,
      unheard: items
        .filter(({ played, written, complete }) => played < written || !complete)
        .map(({ id, played }) => ({ item: id, heardMs: Math.floor(ms(played)) })),
    }
  }

  #item(id: string): Item {
    const known = this.#items.find(item => item.id === id)
    if (known) return known
    const item: Item = { id, text: '', chunks: [], buffered: 0, written: 0, played: 0, complete: false }
    this.#items.push(item)
    return item
  }

  #take(item: Item): LiveFrame {
    const pcm = new Int16Array(this.#frame)
    let ulaw: Uint8Array | null = new Uint8Array(this.#frame).fill(SILENCE.PCMU)
    let filled = 0
    while (filled < this.#frame && item.chunks.length > 0) {
      const chunk = item.chunks[0]!
      const count = Math.min(chunk.pcm.length, this.#frame - filled)
      pcm.set(chunk.pcm.subarray(0, count), filled)
      if (chunk.ulaw) ulaw?.set(chunk.ulaw.subarray(0, count), filled)
      else ulaw = null
      filled += count
      if (count === chunk.pcm.length) item.chunks.shift()
      else {
        item.chunks[0] = { pcm: chunk.pcm.subarray(count), ulaw: chunk.ulaw?.subarray(count) ?? null }
      }
    }
    item.buffered -= filled
    item.played += filled
    return { pcm, ulaw }
  }
}
