/**
 * Client of a service that the operator has chosen: retries while it is busy, and limits and validates its responses.
 */
import type { z } from 'zod'
import type { Clock } from '../../../../media/shared/clock.ts'
import { type Fetch, FetchError, type FetchRequest, type FetchResponse } from '../../../../media/shared/fetch.ts'
import { HostLanes } from '../../../knowledge/crawl/lanes.ts'
import { pause } from '../../../knowledge/crawl/pause.ts'
import { LeadSourceError } from '../vocabulary/types.ts'

export interface ServicePorts {
  fetch: Fetch
  clock: Clock
  /** Identifies the client, as the usage policies of public servers require. */
  userAgent: string
}

export interface ServiceOptions extends ServicePorts {
  /** Name in error messages for the owner: `The map service`. */
  name: string
  /** Milliseconds between two requests; one runs at a time. */
  pauseMs: number
  timeoutMs: number
  maxBytes: number
  /** Milliseconds before the second, third … attempt when the response does not say; 2, 8 and 30 s by default. */
  retryMs?: readonly number[]
}

export type Question = Pick<FetchRequest, 'url' | 'method' | 'body'> & { headers?: Record<string, string> }

/** The response exceeds the size limit; a smaller query may succeed. */
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

  /** Rejects with `LeadSourceError`, and with the reason of `signal` when it is aborted. */
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
      throw new LeadSourceError('unreachable', `${name} is unreachable (${answer.code}).`)
    }
    if (answer.status !== 200) throw new LeadSourceError('bad_answer', `${name} returned status ${answer.status}.`)
    const { data, error } = schema.safeParse(parseJson(answer.body))
    if (error) throw new LeadSourceError('bad_answer', `${name} returned an unexpected response.`)
    return data
  }

  #gaveUp(answer: FetchResponse | FetchError): LeadSourceError {
    const { name } = this.#options
    if (!(answer instanceof FetchError)) return new LeadSourceError('overloaded', `${name} is busy (${answer.status}).`)
    return answer.code === 'timeout'
      ? new LeadSourceError('overloaded', `${name} did not answer in time.`)
      : new LeadSourceError('unreachable', `${name} is unreachable.`)
  }
}

/** True when a retry may succeed. */
function isPassing(answer: FetchResponse | FetchError): boolean {
  if (answer instanceof FetchError) return answer.code === 'timeout' || answer.code === 'network'
  return answer.status === 429 || (answer.status >= 500 && answer.status !== 501)
}

/** RFC 9110 §10.2.3: seconds or a date. Null when the header is missing. */
export function retryAfterMs(answer: FetchResponse | FetchError, wallMs: number): number | null {
  const header = answer instanceof FetchError ? undefined : answer.headers['retry-after']?.trim()
  if (!header) return null
  const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - wallMs
  return Number.isNaN(ms) ? null : Math.min(Math.max(ms, 0), LONGEST_RETRY_AFTER)
}

/** Returns undefined, which no schema accepts, for invalid JSON. */
function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'))
  } catch {
    return undefined
  }
}
