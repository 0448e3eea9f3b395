/**
 * Records the inputs of a conversation. Every input is delivered separately, in an event loop turn of its own and at
 * one reading of the clock. A replay does the same, so it cannot differ by chance.
 */

import type { AgentControls } from '../agent/agent-session.ts'
import type { ConversationOptions } from '../agent/conversation.ts'
import type { LegSink } from '../ports/leg.ts'
import type { SpeechChunk, Transcript } from '../ports/speech.ts'
import type { Clock } from '../shared/clock.ts'
import type { FetchError } from '../shared/fetch.ts'
import { chunkCodec, LOG_VERSION, type LogEntry, type LogHeader, pcmToText, responseCodec } from './log.ts'

export type ConversationPorts = Pick<
  ConversationOptions,
  'clock' | 'vad' | 'stt' | 'tts' | 'llm' | 'fetch' | 'abilities'
>

type WithoutTime<T> = T extends unknown ? Omit<T, 'at'> : never

/** Text that identifies a request, so that a replay can match it. */
export const requestKey = {
  stt: (fromMs: number, toMs: number) => `${fromMs} ${toMs}`,
  tts: ({ text, voice, language }: { text: string; voice: string | null; language: string }) =>
    JSON.stringify([text, voice, language]),
  llm: ({ system, messages, tools }: { system: string; messages: readonly unknown[]; tools: readonly unknown[] }) =>
    JSON.stringify([system, messages, tools]),
  fetch: ({ url, method, body }: { url: string; method: string; body: string | null }) =>
    JSON.stringify([method, url, body]),
}

const ABILITIES = ['sendDtmf', 'transfer', 'searchKnowledge'] as const

export class ReplayRecorder {
  readonly edges: ConversationPorts
  readonly #write: (line: string) => void
  readonly #real: ConversationPorts
  readonly #queue: { entry: WithoutTime<LogEntry>; deliver(): void }[] = []
  #pumping = false
  #pulling = false
  #nowMs: number
  #lastId = 0

  /** `write` receives one line at a time, without the newline. The plan is written without its sealed part. */
  constructor(options: ConversationOptions, write: (line: string) => void) {
    this.#real = options
    this.#write = write
    this.#nowMs = options.clock.now()
    const header: LogHeader = {
      v: LOG_VERSION,
      plan: { ...options.plan, sealed: null },
      sampleRate: options.sampleRate,
      abilities: ABILITIES.filter(name => options.abilities[name] !== undefined),
      nowMs: this.#nowMs,
      wallMs: options.clock.wall(),
    }
    write(JSON.stringify(header))
    this.edges = this.#recorded()
  }

  start(begin: () => void): void {
    this.#deliver({ type: 'start' }, begin)
  }

  stop(end: () => void): void {
    this.#deliver({ type: 'stop' }, end)
  }

  sink(inner: LegSink): LegSink {
    return {
      push: frame => {
        const { atMs, concealed } = frame
        this.#later({ type: 'push', pcm: pcmToText(frame.pcm), atMs, concealed }, () => inner.push(frame))
      },
      pull: atMs => {
        this.#log({ type: 'pull', atMs, joined: this.#pulling })
        this.#pulling = true
        queueMicrotask(() => (this.#pulling = false))
        return inner.pull(atMs)
      },
      dtmf: digit => this.#later({ type: 'dtmf', digit }, () => inner.dtmf(digit)),
      text: text => this.#later({ type: 'text', text }, () => inner.text?.(text)),
    }
  }

  /** Delivered at once, since the agent must be silent from the next frame on; the callers are separate events. */
  operated(talk: AgentControls): AgentControls {
    return {
      stepAside: () => this.#deliver({ type: 'stepAside' }, () => talk.stepAside()),
      stepIn: () => this.#deliver({ type: 'stepIn' }, () => talk.stepIn()),
      operatorSaid: said => this.#deliver({ type: 'operatorSaid', ...said }, () => talk.operatorSaid(said)),
      instruct: text => this.#deliver({ type: 'instruct', text }, () => talk.instruct(text)),
    }
  }

  /** Reads the clock and writes the entry. */
  #log(entry: WithoutTime<LogEntry>): void {
    this.#nowMs = this.#real.clock.now()
    this.#write(JSON.stringify({ ...entry, at: this.#nowMs }))
  }

  #deliver<T>(entry: WithoutTime<LogEntry>, run: () => T): T {
    this.#log(entry)
    return run()
  }

  #later(entry: WithoutTime<LogEntry>, deliver: () => void): void {
    this.#queue.push({ entry, deliver })
    if (this.#pumping) return
    this.#pumping = true
    setImmediate(() => this.#pump())
  }

  #pump(): void {
    const next = this.#queue.shift()
    if (next) this.#deliver(next.entry, next.deliver)
    this.#pumping = this.#queue.length > 0
    if (this.#pumping) setImmediate(() => this.#pump())
  }

  #ask(port: Extract<LogEntry, { type: 'ask' }>['port'], request: string): number {
    const id = ++this.#lastId
    this.#write(JSON.stringify({ type: 'ask', at: this.#nowMs, id, port, request }))
    return id
  }

  #recorded(): ConversationPorts {
    const { clock, vad, stt, tts, llm, fetch, abilities } = this.#real
    const now: Clock = {
      now: () => this.#nowMs,
      wall: () => clock.wall() - (clock.now() - this.#nowMs),
      after: (ms, run) => {
        const id = ++this.#lastId
        let live = true
        const cancel = clock.after(ms, () => this.#later({ type: 'timer', id }, () => live && run()))
        return () => {
          live = false
          cancel()
        }
      },
    }
    const { sendDtmf, transfer, searchKnowledge } = abilities
    return {
      clock: now,
      vad: {
        open: options =>
          vad.open({
            ...options,
            onVoice: frame => this.#later({ type: 'voice', ...frame }, () => options.onVoice(frame)),
          }),
      },
      stt: {
        open: options => {
          const stream = stt.open(options)
          return {
            push: frame => stream.push(frame),
            close: () => stream.close(),
            transcribe: (fromMs, toMs, signal) =>
              this.#one<Transcript>(this.#ask('stt', requestKey.stt(fromMs, toMs)), () =>
                stream.transcribe(fromMs, toMs, signal),
              ),
          }
        },
      },
      tts: {
        speak: (options, signal) =>
          this.#many<SpeechChunk>(
            this.#ask('tts', requestKey.tts(options)),
            tts.speak(options, signal),
            chunkCodec.write,
          ),
      },
      llm: {
        respond: (request, signal) =>
          this.#many(this.#ask('llm', requestKey.llm(request)), llm.respond(request, signal), event => event),
        wrapUp: (request, signal) => llm.wrapUp(request, signal),
      },
      fetch: request =>
        this.#one(this.#ask('fetch', requestKey.fetch(request)), () => fetch(request), responseCodec.write),
      abilities: {
        ...(sendDtmf ? { sendDtmf: keys => this.#one(this.#ask('keys', keys), () => sendDtmf(keys)) } : {}),
        ...(transfer
          ? { transfer: (target, about) => this.#one(this.#ask('transfer', target.to), () => transfer(target, about)) }
          : {}),
        ...(searchKnowledge
          ? {
              searchKnowledge: (query, signal) =>
                this.#one(this.#ask('knowledge', query), () => searchKnowledge(query, signal)),
            }
          : {}),
      },
    }
  }

  #one<T>(id: number, run: () => Promise<T>, write: (value: T) => unknown = value => value): Promise<T> {
    return new Promise((resolve, reject) => {
      run().then(
        value => this.#later({ type: 'answer', id, value: write(value) ?? null }, () => resolve(value)),
        error => this.#later(failure(id, error), () => reject(error)),
      )
    })
  }

  /** Reads the source without waiting; delivers the values one by one. */
  #many<T>(id: number, source: AsyncIterable<T>, write: (value: T) => unknown): AsyncIterable<T> {
    const mailbox = createMailbox<T>()
    void (async () => {
      try {
        for await (const value of source)
          this.#later({ type: 'answer', id, value: write(value) }, () => mailbox.put(value))
        this.#later({ type: 'done', id }, () => mailbox.end())
      } catch (error) {
        this.#later(failure(id, error), () => mailbox.fail(error))
      }
    })()
    return mailbox.read()
  }
}

const failure = (id: number, error: unknown) => ({
  type: 'failed' as const,
  id,
  code: (error as Partial<FetchError>).code ?? null,
  message: error instanceof Error ? error.message : String(error),
})

export interface Mailbox<T> {
  put(value: T): void
  end(): void
  fail(error: unknown): void
  read(): AsyncIterable<T>
}

/** Converts deliveries to an async iterable. */
export function createMailbox<T>(): Mailbox<T> {
  const values: T[] = []
  let over: { error?: unknown } | null = null
  let wake = () => {}
  return {
    put(value) {
      values.push(value)
      wake()
    },
    end() {
      over ??= {}
      wake()
    },
    fail(error) {
      over ??= { error }
      wake()
    },
    async *read() {
      for (;;) {
        if (values.length > 0) yield values.shift()!
        else if (over) {
          if ('error' in over) throw over.error
          return
        } else await new Promise<void>(resolve => (wake = resolve))
      }
    },
  }
}
