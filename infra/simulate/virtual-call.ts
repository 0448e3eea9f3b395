/**
 * A call without audio or real time: the real conversation, turns, tools and model, on a simulated clock that advances
 * in steps of 20 ms and stops while a model computes. Words take as long as they would take to speak.
 */
import { Conversation } from '../../media/agent/conversation.ts'
import { type CheckedWrapUp, wrapUpCall } from '../../media/agent/wrap-up.ts'
import type { CallEventBody, EndedReason, ToolCall, Turn } from '../../media/contract/messages.ts'
import type { CallPlan } from '../../media/contract/plan.ts'
import type { AudioFrame } from '../../media/ports/leg.ts'
import type { Llm } from '../../media/ports/llm.ts'
import type { Stt, Tts, Vad, VoiceFrame } from '../../media/ports/speech.ts'
import type { Clock } from '../../media/shared/clock.ts'
import { type Fetch, FetchError, type FetchRequest, type FetchResponse } from '../../media/shared/fetch.ts'
import type { Log } from '../../media/shared/log.ts'
import type { ToolAnswer } from './scenario.ts'

const FRAME_MS = 20
const RATE = 8000
const FRAME = (RATE * FRAME_MS) / 1000
/** Milliseconds per character: about seventeen characters per second. */
const LETTER_MS = 60

export interface VirtualOptions {
  plan: CallPlan
  llm: Llm
  /** Used for tools without a defined answer. */
  fetch: Fetch
  /** Answers by tool name. */
  answers: Record<string, ToolAnswer>
  log: Log
  wallMs: number
}

interface Utterance {
  words: string[]
  startMs: number
  endMs: number
}

export interface VirtualOutcome {
  turns: Turn[]
  tools: ToolCall[]
  events: CallEventBody[]
  ended: EndedReason
  latency: { p50_ms: number | null; p95_ms: number | null }
  record: CheckedWrapUp | null
}

export class VirtualCall {
  readonly conversation: Conversation
  readonly #options: VirtualOptions
  readonly #timers = new Set<{ atMs: number; run(): void }>()
  readonly #said: Utterance[] = []
  readonly #events: CallEventBody[] = []
  #onVoice: (frame: VoiceFrame) => void = () => {}
  #nowMs = 1000
  #ended: EndedReason | null = null
  #outstanding = 0
  /** True when the agent's audio is present in this frame, and for how long it has been silent. */
  #speaking = false
  #quietMs = 0
  #spokeSince = false
  #spokenMs = 0

  constructor(options: VirtualOptions) {
    this.#options = options
    const { plan, log, llm, fetch } = options
    this.conversation = new Conversation({
      plan,
      secrets: { tool_headers: {}, llm_api_key: null, vendor_keys: {} },
      sampleRate: RATE,
      clock: this.clock,
      log,
      vad: this.#vad(),
      stt: this.#stt(),
      tts: voice,
      llm: {
        respond: (request, signal) => this.#waitedFor(llm.respond(request, signal)),
        wrapUp: (request, signal) => llm.wrapUp(request, signal),
      },
      fetch: request => this.#answer(request) ?? this.#counted(fetch(request)),
      abilities: {},
      emit: event => this.#events.push(event),
      onHangup: reason => (this.#ended ??= reason),
    })
    this.conversation.start()
  }

  get ended(): EndedReason | null {
    return this.#ended
  }

  readonly clock: Clock = {
    now: () => this.#nowMs,
    wall: () => this.#options.wallMs + this.#nowMs,
    after: (ms, run) => {
      const timer = { atMs: this.#nowMs + ms, run }
      this.#timers.add(timer)
      return () => this.#timers.delete(timer)
    },
  }

  /** Waits until the agent is silent, then speaks. */
  async say(text: string): Promise<void> {
    await this.agentSilent()
    await this.#speak(text)
  }

  async bargeIn(afterMs: number, text: string): Promise<void> {
    this.#spokenMs = 0
    await this.#until(() => this.#spokenMs > afterMs, 60_000)
    await this.#speak(text)
  }

  async press(keys: string): Promise<void> {
    await this.agentSilent()
    for (const key of keys) {
      this.conversation.dtmf(key)
      await this.pass(200)
    }
    this.#spokeSince = false
  }

  hangUp(): void {
    this.#ended ??= 'caller_hangup'
  }

  async pass(ms: number): Promise<void> {
    for (let done = 0; done < ms && !this.#ended; done += FRAME_MS) await this.#step(false)
  }

  /** Waits until the agent has spoken since the caller last did and is silent, or says nothing for 45 s. */
  async agentSilent(): Promise<void> {
    await this.#until(() => this.#spokeSince && this.#quietMs >= 600, 45_000)
  }

  async outcome(): Promise<VirtualOutcome> {
    const { plan, llm } = this.#options
    this.#ended ??= 'caller_hangup'
    this.conversation.stop()
    await this.conversation.settled()
    const { goal, extraction } = plan
    const request = { ...this.conversation.request(), goal, extraction }
    const record = await wrapUpCall(llm, request, AbortSignal.timeout(60_000)).catch(() => null)
    const { transcript } = this.conversation
    const { p50_ms, p95_ms } = transcript.latency()
    return {
      turns: transcript.turns,
      tools: transcript.toolCalls,
      events: this.#events,
      ended: this.#ended,
      latency: { p50_ms, p95_ms },
      record,
    }
  }

  async #speak(text: string): Promise<void> {
    const words = text.split(/\s+/).filter(Boolean)
    const lastsMs = Math.max(300, Math.ceil((text.length * LETTER_MS) / FRAME_MS) * FRAME_MS)
    const startMs = this.#nowMs
    this.#said.push({ words, startMs, endMs: startMs + lastsMs })
    this.#spokeSince = false
    while (this.#nowMs < startMs + lastsMs && !this.#ended) await this.#step(true)
    this.#spokeSince = false
  }

  async #until(condition: () => boolean, mostMs: number): Promise<void> {
    const startedMs = this.#nowMs
    while (!condition() && !this.#ended && this.#nowMs - startedMs < mostMs) await this.#step(false)
  }

  async #step(voiced: boolean): Promise<void> {
    const target = this.#nowMs + FRAME_MS
    for (;;) {
      const due = [...this.#timers].filter(timer => timer.atMs <= target).sort((a, b) => a.atMs - b.atMs)[0]
      if (!due) break
      this.#timers.delete(due)
      this.#nowMs = Math.max(this.#nowMs, due.atMs)
      due.run()
      await this.#settle()
    }
    this.#nowMs = target
    const frame: AudioFrame = { pcm: voiced ? murmur(target) : new Int16Array(FRAME), atMs: target, concealed: false }
    this.conversation.push(frame)
    this.#onVoice({ probability: voiced ? 1 : 0, atMs: target, windowMs: FRAME_MS })
    this.#hear(this.conversation.pull(target))
    await this.#settle()
  }

  #hear(pcm: Int16Array | null): void {
    this.#speaking = pcm !== null
    if (this.#speaking) {
      this.#spokeSince = true
      this.#spokenMs += FRAME_MS
      this.#quietMs = 0
    } else this.#quietMs += FRAME_MS
  }

  /** Lets all pending work finish; requests over a network take no time on this clock. */
  async #settle(): Promise<void> {
    do await new Promise(resolve => setImmediate(resolve))
    while (this.#outstanding > 0 && !this.#ended)
  }

  async #counted<T>(work: Promise<T>): Promise<T> {
    this.#outstanding++
    return work.finally(() => this.#outstanding--)
  }

  /** The scenario's answer for this tool, after its delay; null for a tool that the scenario does not define. */
  #answer(request: FetchRequest): Promise<FetchResponse> | null {
    const { plan, answers } = this.#options
    const tool = plan.tools.find(({ url, method }) => method === request.method && fitsTemplate(url, request.url))
    const answer = tool && answers[tool.name]
    if (!answer) return null
    return new Promise((resolve, reject) => {
      const give = (ms: number, run: () => void) => this.clock.after(ms, run)
      if (answer.fails === 'network') give(answer.delay_ms, () => reject(new FetchError('network', 'No connection')))
      else if (answer.fails === 'timeout' || answer.delay_ms > request.timeoutMs)
        give(request.timeoutMs, () => reject(new FetchError('timeout', 'No answer in time')))
      else {
        const headers = { 'content-type': 'application/json' }
        const body = Buffer.from(JSON.stringify(answer.body))
        give(answer.delay_ms, () => resolve({ status: answer.status, headers, body, url: request.url }))
      }
      request.signal.addEventListener('abort', () => reject(new FetchError('aborted', 'Canceled')))
    })
  }

  async *#waitedFor<T>(source: AsyncIterable<T>): AsyncIterable<T> {
    const iterator = source[Symbol.asyncIterator]()
    try {
      for (;;) {
        this.#outstanding++
        const result = await iterator.next().finally(() => this.#outstanding--)
        if (result.done) return
        yield result.value
      }
    } finally {
      void iterator.return?.()?.catch(() => {})
    }
  }

  #vad(): Vad {
    return {
      open: ({ onVoice }) => {
        this.#onVoice = onVoice
        return { push() {}, close() {} }
      },
    }
  }

  /** Recognises the words spoken between two times. */
  #stt(): Stt {
    const transcript = (fromMs: number, toMs: number) =>
      this.#said
        .flatMap(({ words, startMs, endMs }) => {
          const each = (endMs - startMs) / words.length
          return words.filter((_, i) => startMs + i * each >= fromMs - each && startMs + (i + 0.6) * each <= toMs)
        })
        .join(' ')
    return {
      open: () => ({
        push() {},
        close() {},
        transcribe: async (fromMs, toMs) => ({ text: transcript(fromMs, toMs), confidence: 1 }),
      }),
    }
  }
}

/** True when a URL matches this template, where `{param}` matches anything but a slash. */
function fitsTemplate(template: string, url: string): boolean {
  const [path] = template.split('?')
  const pattern = path!.split(/\{\w+\}/).map(part => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`^${pattern.join('[^/?#]*')}(?:[?#].*)?$`).test(url)
}

/** Noise with gaps, like speech; not a tone. */
function murmur(atMs: number): Int16Array {
  let noise = Math.round(atMs) + 1
  const level = atMs % 240 < FRAME_MS ? 500 : 6000
  return Int16Array.from({ length: FRAME }, () => {
    noise = (noise * 1_103_515_245 + 12_345) & 0x7fffffff
    return noise & 0x10000 ? level : -level
  })
}

const voice: Tts = {
  async *speak({ text }) {
    yield { pcm: new Int16Array((RATE / 1000) * LETTER_MS * text.length).fill(1000), sampleRate: RATE }
  },
}
