/**
 * Replays a recorded log through the real conversation, on a clock that only the log advances. The same log gives the
 * same events, bit by bit; another plan shows where the conversation diverges.
 */
import { createHash } from 'node:crypto'
import { Conversation } from '../agent/conversation.ts'
import type { CallEventBody, EndedReason, Turn } from '../contract/messages.ts'
import type { CallPlan } from '../contract/plan.ts'
import type { KnowledgeHit } from '../ports/knowledge.ts'
import type { TransferResult } from '../ports/leg.ts'
import type { Llm, LlmEvent } from '../ports/llm.ts'
import type { SpeechChunk, Transcript, Tts } from '../ports/speech.ts'
import type { Clock } from '../shared/clock.ts'
import { type Fetch, FetchError, type FetchErrorCode } from '../shared/fetch.ts'
import type { Log } from '../shared/log.ts'
import { type CallLog, chunkCodec, type LogEntry, responseCodec, textToPcm } from './log.ts'
import { type ConversationPorts, createMailbox, type Mailbox, requestKey } from './recorder.ts'

export interface PlayOptions {
  /** Fields that replace those of the recorded plan. */
  plan?: Partial<CallPlan>
  /** Answers requests that are not in the log; without it they fail. */
  llm?: Llm
  /** Speaks texts that are not in the log; without it a silent voice of usual pace does. */
  tts?: Tts
  log?: Log
}

export interface Played {
  events: CallEventBody[]
  turns: Turn[]
  ended: EndedReason[]
  /** SHA-256 of the events and of all audio given to the leg. */
  hash: string
  /** Requests that are not in the log. */
  divergences: { port: string; request: string }[]
}

type Port = Extract<LogEntry, { type: 'ask' }>['port']
interface Pending {
  deliver(entry: Extract<LogEntry, { type: 'answer' | 'done' | 'failed' }>): void
}

export async function play(log: CallLog, options: PlayOptions = {}): Promise<Played> {
  const { header } = log
  const player = new Player(log, options)
  const events: CallEventBody[] = []
  const ended: EndedReason[] = []
  const digest = createHash('sha256')
  let voice: ((entry: Extract<LogEntry, { type: 'voice' }>) => void) | null = null
  const plan = { ...header.plan, ...options.plan }
  const conversation = new Conversation({
    ...player.edges(onVoice => (voice = onVoice)),
    plan,
    secrets: { tool_headers: {}, llm_api_key: null, vendor_keys: {} } as never,
    sampleRate: header.sampleRate,
    log: options.log ?? silent,
    emit: event => {
      events.push(event)
      digest.update(JSON.stringify(event))
    },
    onHangup: reason => ended.push(reason),
  })
  for (const [i, entry] of log.entries.entries()) {
    player.nowMs = entry.at
    switch (entry.type) {
      case 'start':
        conversation.start()
        break
      case 'push':
        conversation.push({ pcm: textToPcm(entry.pcm), atMs: entry.atMs, concealed: entry.concealed })
        break
      case 'pull': {
        const pcm = conversation.pull(entry.atMs)
        digest.update(pcm ? Buffer.from(pcm.buffer, pcm.byteOffset, pcm.byteLength) : '-')
        break
      }
      case 'dtmf':
        conversation.dtmf(entry.digit)
        break
      case 'text':
        conversation.text(entry.text)
        break
      case 'voice':
        ;(voice as ((entry: Extract<LogEntry, { type: 'voice' }>) => void) | null)?.(entry)
        break
      case 'timer':
      case 'ask':
        break
      case 'answer':
      case 'done':
      case 'failed':
        player.deliver(entry)
        break
      case 'stepAside':
        conversation.stepAside()
        break
      case 'stepIn':
        conversation.stepIn()
        break
      case 'operatorSaid':
        conversation.operatorSaid(entry)
        break
      case 'instruct':
        conversation.instruct(entry.text)
        break
      case 'stop':
        conversation.stop()
    }
    player.runTimers(entry)
    const next = log.entries[i + 1]
    if (next?.type !== 'pull' || !next.joined) await player.settle()
  }
  conversation.stop()
  return {
    events,
    turns: conversation.transcript.turns,
    ended,
    hash: digest.digest('hex'),
    divergences: player.divergences,
  }
}

class Player {
  nowMs: number
  readonly divergences: { port: string; request: string }[] = []
  readonly #log: CallLog
  readonly #options: PlayOptions
  /** Recorded requests that were not made yet, in order. */
  readonly #asked: Extract<LogEntry, { type: 'ask' }>[]
  readonly #pending = new Map<number, Pending>()
  /** Timers share the numbering of requests, as in the recorder. */
  readonly #timers = new Map<number, { dueMs: number; run(): void }>()
  #lastId = 0
  readonly #live = new Set<Promise<void>>()

  constructor(log: CallLog, options: PlayOptions) {
    this.#log = log
    this.#options = options
    this.nowMs = log.header.nowMs
    this.#asked = log.entries.filter(entry => entry.type === 'ask')
  }

  deliver(entry: Extract<LogEntry, { type: 'answer' | 'done' | 'failed' }>): void {
    this.#pending.get(entry.id)?.deliver(entry)
  }

  /** Lets pending promises run; live answers take no time on the log's clock. */
  async settle(): Promise<void> {
    do {
      await Promise.all(this.#live)
      await new Promise(resolve => setImmediate(resolve))
    } while (this.#live.size > 0)
  }

  /** Runs timers where the log has them; after a divergence, at their due time by the log's clock. */
  runTimers(entry: LogEntry): void {
    if (this.divergences.length === 0) {
      if (entry.type === 'timer') this.#run(entry.id)
      return
    }
    for (const [id, { dueMs }] of [...this.#timers]) if (dueMs <= this.nowMs) this.#run(id)
  }

  #run(id: number): void {
    const timer = this.#timers.get(id)
    this.#timers.delete(id)
    timer?.run()
  }

  edges(listen: (onVoice: (entry: Extract<LogEntry, { type: 'voice' }>) => void) => void): ConversationPorts {
    const { header } = this.#log
    const clock: Clock = {
      now: () => this.nowMs,
      wall: () => header.wallMs + (this.nowMs - header.nowMs),
      after: (ms, run) => {
        const id = ++this.#lastId
        this.#timers.set(id, { dueMs: this.nowMs + ms, run })
        return () => this.#timers.delete(id)
      },
    }
    const fetch: Fetch = request =>
      this.#one('fetch', requestKey.fetch(request), responseCodec.read, () =>
        Promise.reject(new FetchError('network', 'not in the log')),
      )
    return {
      clock,
      vad: {
        open: ({ onVoice }) => {
          listen(onVoice)
          return { push() {}, close() {} }
        },
      },
      stt: {
        open: () => ({
          push() {},
          close() {},
          transcribe: (fromMs, toMs) =>
            this.#one('stt', requestKey.stt(fromMs, toMs), asIs<Transcript>, () =>
              Promise.reject(new Error('not in the log')),
            ),
        }),
      },
      tts: {
        speak: (options, signal) =>
          this.#many<SpeechChunk>('tts', requestKey.tts(options), chunkCodec.read, () =>
            (this.#options.tts ?? usualVoice).speak(options, signal),
          ),
      },
      llm: {
        respond: (request, signal) =>
          this.#many<LlmEvent>('llm', requestKey.llm(request), asIs<LlmEvent>, () => {
            if (!this.#options.llm) throw new Error('not in the log')
            return this.#options.llm.respond(request, signal)
          }),
        wrapUp: () => Promise.reject(new Error('a replay has no call record')),
      },
      fetch,
      abilities: this.#abilities(),
    }
  }

  #abilities(): ConversationPorts['abilities'] {
    const { abilities } = this.#log.header
    const had = (name: (typeof abilities)[number]) => abilities.includes(name)
    const lost = () => Promise.reject(new Error('not in the log'))
    return {
      ...(had('sendDtmf') ? { sendDtmf: keys => this.#one('keys', keys, () => undefined, lost) } : {}),
      ...(had('transfer') ? { transfer: ({ to }) => this.#one('transfer', to, asIs<TransferResult>, lost) } : {}),
      ...(had('searchKnowledge')
        ? { searchKnowledge: query => this.#one('knowledge', query, asIs<KnowledgeHit[]>, lost) }
        : {}),
    }
  }

  /** Returns the id of the matching recorded request, or null when the conversation diverged. */
  #match(port: Port, request: string): number | null {
    this.#lastId++
    const index = this.#asked.findIndex(ask => ask.port === port && ask.request === request)
    if (index < 0) {
      this.divergences.push({ port, request })
      return null
    }
    return this.#asked.splice(index, 1)[0]!.id
  }

  #one<T>(port: Port, request: string, read: (value: unknown) => T, otherwise: () => Promise<T>): Promise<T> {
    const id = this.#match(port, request)
    if (id === null) return otherwise()
    return new Promise((resolve, reject) => {
      this.#pending.set(id, {
        deliver: entry => {
          if (entry.type === 'answer') resolve(read(entry.value))
          else if (entry.type === 'failed') reject(errorOf(port, entry))
        },
      })
    })
  }

  #many<T>(
    port: Port,
    request: string,
    read: (value: unknown) => T,
    otherwise: () => AsyncIterable<T>,
  ): AsyncIterable<T> {
    const id = this.#match(port, request)
    if (id === null) return this.#answerLive(otherwise())
    const mailbox: Mailbox<T> = createMailbox()
    this.#pending.set(id, {
      deliver: entry => {
        if (entry.type === 'answer') mailbox.put(read(entry.value))
        else if (entry.type === 'done') mailbox.end()
        else mailbox.fail(errorOf(port, entry))
      },
    })
    return mailbox.read()
  }

  #answerLive<T>(source: AsyncIterable<T>): AsyncIterable<T> {
    const mailbox: Mailbox<T> = createMailbox()
    const reading = (async () => {
      try {
        for await (const value of source) mailbox.put(value)
        mailbox.end()
      } catch (error) {
        mailbox.fail(error)
      }
    })().then(() => void this.#live.delete(reading))
    this.#live.add(reading)
    return mailbox.read()
  }
}

const asIs = <T>(value: unknown) => value as T

const errorOf = (port: Port, { code, message }: Extract<LogEntry, { type: 'failed' }>) =>
  port === 'fetch' ? new FetchError((code ?? 'network') as FetchErrorCode, message) : new Error(message)

const LETTER_MS = 60
/** Inaudible audio of the usual length. */
const usualVoice: Tts = {
  async *speak({ text }) {
    yield { pcm: new Int16Array(8 * LETTER_MS * text.length).fill(200), sampleRate: 8000 }
  },
}

const silent: Log = { debug() {}, info() {}, warn() {}, error() {}, child: () => silent }
