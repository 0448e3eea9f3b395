/** One question to a service that the operator has chosen: asked again while it is busy, its answer bounded and checked. */
import type { z } from 'zod'
import type { Clock } from '../../../../media/shared/clock.ts'
import { type Fetch, FetchError, type FetchRequest, type FetchResponse } from '../../../../media/shared/fetch.ts'
import { HostLanes } from '../../../knowledge/crawl/lanes.ts'
import { pause } from '../../../knowledge/crawl/pause.ts'
import { LeadSourceError } from '../vocabulary/types.ts'

export interface ServicePorts {
  fetch: Fetch
  clock: Clock
  /** Who asks, as the usage policies of public servers want it told. */
  userAgent: string
}

export interface ServiceOptions extends ServicePorts {
  /** In errors, for the owner: `The map service`. */
  name: string
  /** Between two requests, in ms; one is made at a time. */
  pauseMs: number
  timeoutMs: number
  maxBytes: number
  /** Before the second, third … attempt, where the answer does not say; in ms. */
  retryMs?: readonly number[]
}

export type Question = Pick<FetchRequest, 'url' | 'method' | 'body'> & { headers?: Record<string, string> }

/** The answer is longer than is read: a smaller question may be answered. */
export class TooMuch extends LeadSourceError {}

const RETRY_MS = [2000, 8000, 30_000]
const LONGEST_RETRY_AFTER = 60_000
const MOST_REDIRECTS = 3

export class Service {
  readonly #options: ServiceOptions
  readonly #lanes: HostLanes

  constructor(options: ServiceOptions) {
    this.#options = options
    this.#lanes = new HostLanes(options.clock)
  }

  /** Rejects with `LeadSourceError`, and with the reason of `signal` when that is aborted. */
  async ask<T>(question: Question, schema: z.ZodType<T>, signal: AbortSignal): Promise<T> {
    const { retryMs = RETRY_MS, clock } = this.#options
    for (let attempt = 0; ; attempt++) {
      const answer = await this.#send(question, signal)
      if (!isPassing(answer)) return this.#read(answer, schema)
      const wait = retryMs[attempt]
      if (wait === undefined) throw this.#gaveUp(answer)
      await pause(clock, retryAfterMs(answer, clock.wall()) ?? wait, signal)
    }
  }

  #send(question: Question, signal: AbortSignal): Promise<FetchResponse | FetchError> {
    const { fetch, pauseMs, timeoutMs, maxBytes, userAgent } = this.#options
    const headers = { accept: 'application/json', 'user-agent': userAgent, ...question.headers }
    const request = { ...question, headers, timeoutMs, maxBytes, maxRedirects: MOST_REDIRECTS, signal }
    return this.#lanes.run(new URL(question.url).host, pauseMs, signal, () =>
      fetch(request).catch(error => {
        signal.throwIfAborted()
        if (error instanceof FetchError) return error
        throw error
      }),
    )
  }

  #read<T>(answer: FetchResponse | FetchError, schema: z.ZodType<T>): T {
    const { name, maxBytes } = this.#options
    if (answer instanceof FetchError) {
      if (answer.code === 'too_large') throw new TooMuch('bad_answer', `${name} sent more than ${maxBytes} bytes.`)
      throw new LeadSourceError('unreachable', `${name} cannot be reached (${answer.code}).`)
    }
    if (answer.status !== 200) throw new LeadSourceError('bad_answer', `${name} answered ${answer.status}.`)
    const { data, error } = schema.safeParse(parseJson(answer.body))
    if (error) throw new LeadSourceError('bad_answer', `${name} answered something else than was asked for.`)
    return data
  }

  #gaveUp(answer: FetchResponse | FetchError): LeadSourceError {
    const { name } = this.#options
    if (!(answer instanceof FetchError)) return new LeadSourceError('overloaded', `${name} is busy (${answer.status}).`)
    return answer.code === 'timeout'
      ? new LeadSourceError('overloaded', `${name} did not answer in time.`)
      : new LeadSourceError('unreachable', `${name} cannot be reached.`)
  }
}

/** May be another answer in a moment. */
function isPassing(answer: FetchResponse | FetchError): boolean {
  if (answer instanceof FetchError) return answer.code === 'timeout' || answer.code === 'network'
  return answer.status === 429 || (answer.status >= 500 && answer.status !== 501)
}

/** RFC 9110 §10.2.3: seconds, or a date. Null: it does not say. */
export function retryAfterMs(answer: FetchResponse | FetchError, wallMs: number): number | null {
  const header = answer instanceof FetchError ? undefined : answer.headers['retry-after']?.trim()
  if (!header) return null
  const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - wallMs
  return Number.isNaN(ms) ? null : Math.min(Math.max(ms, 0), LONGEST_RETRY_AFTER)
}

/** Undefined, which no schema takes, for what is no JSON. */
function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'))
  } catch {
    return undefined
  }
}
