/** A customer with a key: REST and live events of calls, seen from outside. */
import type { CallEvent, CallRecord, Turn } from '../../media/contract/messages.ts'
import { PATIENCE } from './world.ts'

export interface Answer {
  status: number
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  body: any
}

export type Detail = Pick<CallRecord, 'ended_reason' | 'sip_code' | 'tool_calls' | 'latency' | 'summary'> & {
  id: string
  status: string
  from: string
  to: string
  direction: string
  duration_seconds: number | null
  billed_seconds: number | null
  cost: { amount: string; currency: string } | null
  answered_at: string | null
  recording_url: string | null
  transcript: Turn[]
}

export interface RequestExtras {
  headers?: Record<string, string>
  timeoutMs?: number
}

/** Half a minute on an overloaded machine. */
const MOST_TRIES = 15

type WithType<T> = Extract<CallEvent, { type: T }>

export class Owner {
  readonly id: string
  readonly projectId: string
  readonly number: string
  readonly webhookId: string | undefined
  readonly webhookSecret: string | undefined
  readonly #baseUrl: string
  readonly #key: string
  readonly #open = new Set<CallStream>()

  constructor(
    baseUrl: string,
    made: {
      id: string
      projectId: string
      number: string
      key: string
      webhookId: string | undefined
      webhookSecret: string | undefined
    },
  ) {
    this.#baseUrl = baseUrl
    this.#key = made.key
    this.id = made.id
    this.projectId = made.projectId
    this.number = made.number
    this.webhookId = made.webhookId
    this.webhookSecret = made.webhookSecret
  }

  /** Retries requests rejected for overload after the requested delay: other tests use this machine too. */
  async rest(method: string, path: string, body?: unknown, how: RequestExtras = {}): Promise<Answer> {
    for (let tries = 1; ; tries++) {
      const { retryAfterMs, ...answer } = await this.#ask(method, path, body, how)
      const isOverloaded = answer.status === 503 && /overloaded/.test(answer.body.detail ?? '')
      if (!isOverloaded || tries === MOST_TRIES) return answer
      await new Promise(resolve => setTimeout(resolve, retryAfterMs))
    }
  }

  async #ask(
    method: string,
    path: string,
    body: unknown,
    how: RequestExtras,
  ): Promise<Answer & { retryAfterMs: number }> {
    const typed = body === undefined ? {} : { 'content-type': 'application/json' }
    const response = await fetch(`${this.#baseUrl}/v1/public${path}`, {
      method,
      headers: { 'x-api-key': this.#key, ...typed, ...how.headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(how.timeoutMs === undefined ? {} : { signal: AbortSignal.timeout(how.timeoutMs) }),
    })
    const retryAfterMs = Number(response.headers.get('retry-after')) * 1000
    return { status: response.status, body: await response.json(), retryAfterMs }
  }

  /** Fetches a response that is not JSON. */
  fetch(path: string, headers: Record<string, string> = {}): Promise<Response> {
    return fetch(`${this.#baseUrl}/v1/public${path}`, { headers: { 'x-api-key': this.#key, ...headers } })
  }

  async place(phone: string, vars: Record<string, string> = {}): Promise<CallStream> {
    const answer = await this.rest('POST', '/calls', { project_id: this.projectId, phone, vars })
    if (answer.status !== 201) throw new Error(`POST /calls: ${answer.status} ${JSON.stringify(answer.body)}`)
    return this.follow(answer.body.id)
  }

  async detail(id: string): Promise<Detail> {
    const answer = await this.rest('GET', `/calls/${id}`)
    if (answer.status !== 200) throw new Error(`GET /calls/${id}: ${answer.status}`)
    return answer.body
  }

  async newest(direction: 'in' | 'out'): Promise<Detail | undefined> {
    return (await this.rest('GET', `/calls?direction=${direction}&limit=1`)).body.items[0]
  }

  async follow(id: string): Promise<CallStream> {
    const stream = await CallStream.open(`${this.#baseUrl}/v1/public/calls/${id}/events`, this.#key, id)
    this.#open.add(stream)
    return stream
  }

  close(): void {
    for (const stream of this.#open) stream.close()
  }
}

/** The live events of one call (SSE), in order. */
export class CallStream {
  readonly id: string
  readonly events: CallEvent[] = []
  readonly #abort = new AbortController()
  readonly #waiting = new Set<() => void>()
  #over = false

  private constructor(id: string) {
    this.id = id
  }

  static async open(url: string, key: string, id: string): Promise<CallStream> {
    const stream = new CallStream(id)
    const response = await fetch(url, { headers: { 'x-api-key': key }, signal: stream.#abort.signal })
    if (!response.ok || !response.body) throw new Error(`live events: ${response.status}`)
    void stream.#read(response.body)
    return stream
  }

  async #read(body: NonNullable<Response['body']>): Promise<void> {
    let pending = ''
    try {
      for await (const part of body.pipeThrough(new TextDecoderStream())) {
        pending += part
        for (let end = pending.indexOf('\n\n'); end >= 0; end = pending.indexOf('\n\n')) {
          const block = pending.slice(0, end)
          pending = pending.slice(end + 2)
          const field = (name: string) => new RegExp(`^${name}: ?(.*)$`, 'm').exec(block)?.[1]
          const type = field('event')
          if (type) this.events.push({ type, ...JSON.parse(field('data') ?? '{}') })
          this.#report()
        }
      }
    } catch {
      // control stopped, or the test closed the stream
    }
    this.#over = true
    this.#report()
  }

  #report(): void {
    for (const look of [...this.#waiting]) look()
  }

  /** The `nth` matching event of this kind, past or future. */
  wait<T extends CallEvent['type']>(
    type: T,
    fits: (event: WithType<T>) => boolean = () => true,
    ms = 30_000,
    nth = 1,
  ): Promise<WithType<T>> {
    return new Promise((resolve, reject) => {
      const give = (settle: () => void) => {
        clearTimeout(timer)
        this.#waiting.delete(look)
        settle()
      }
      const seen = () => this.events.map(event => event.type).join(' ')
      const most = ms * PATIENCE
      const late = () => reject(new Error(`waited ${most} ms for ${type}; seen: ${seen()}`))
      const timer = setTimeout(() => give(late), most)
      const look = () => {
        const found = this.events.filter(
          (event): event is WithType<T> => event.type === type && fits(event as WithType<T>),
        )
        if (found[nth - 1]) give(() => resolve(found[nth - 1]!))
        else if (this.#over) give(() => reject(new Error(`the events ended without ${type}; seen: ${seen()}`)))
      }
      this.#waiting.add(look)
      look()
    })
  }

  agentSaid(nth: number, ms?: number) {
    return this.wait('turn.finished', event => event.turn.role === 'agent', ms, nth)
  }

  ended(ms?: number) {
    return this.wait('call.ended', () => true, ms)
  }

  close(): void {
    this.#abort.abort()
  }
}
