/**
 * Simulated customers during a chaos test: calls by REST from careful clients, inbound calls, a campaign each, and
 * webhook receivers that sometimes fail. Two accounts, one of them with hardly any money.
 */
import { randomUUID } from 'node:crypto'
import type { Phones } from './chaos-phones.ts'
import type { Stack } from './stack.ts'
import type { Owner } from './stack-owner.ts'
import { expectAnswer, maybeAnswer, pause, request, sdp, startSipp } from './stack-sipp.ts'
import type { Got } from './stack-world.ts'

/** A call that a client wants to place exactly once. */
export interface Wish {
  phone: string
  /** `placed`: 201; `refused`: rejected by the API; `open`: no final answer yet. */
  outcome: 'placed' | 'refused' | 'open'
  callId: string | null
  /** The answer, when the call was not placed. */
  why: string | null
}

export interface Customer {
  name: string
  owner: Owner
  wishes: Wish[]
  campaignId: string
  /** Phone numbers of the campaign. */
  contacts: string[]
}

export interface Storm {
  customers: readonly Customer[]
  hooks: Hooks
  /** Clients keep sending requests for `stormMs`; waiting times of campaigns and deliveries are skipped. */
  rage(stormMs: number): Promise<void>
  /** Resolves when all clients have their answers or have given up. */
  settled(): Promise<void>
  stop(): Promise<void>
}

/** The record of a webhook receiver. */
export interface Hooks {
  path: string
  /** Requests answered with 204. */
  taken: Got[]
}

const CLIENT_TIMEOUT_MS = 5000
/** Longer than a minute, after which the Idempotency-Key of a killed process is free again. */
const CLIENT_PATIENCE_MS = 90_000
const INBOUND_EVERY_MS = 4000
const HURRY_MS = 500
const CONTACTS = { rich: 10, poor: 5 }

interface Kind {
  name: 'rich' | 'poor'
  money: string
  retries: number
  /** Milliseconds between two calls of the client. */
  everyMs: number
  /** First phone number; each call and each contact has its own. */
  numbersFrom: number
}
const KINDS: readonly Kind[] = [
  { name: 'rich', money: '10000', retries: 1, everyMs: 1300, numbersFrom: 2_100_000 },
  { name: 'poor', money: '12', retries: 0, everyMs: 2700, numbersFrom: 2_300_000 },
]

export async function prepareStorm(stack: Stack, phones: Phones): Promise<Storm> {
  const hooks = receiveHooks(stack)
  const customers: Customer[] = []
  for (const kind of KINDS) customers.push(await prepare(stack, phones, kind, hooks.path))
  const asking = new Set<Promise<void>>()
  let over = false
  let hurrying = Promise.resolve()
  return {
    customers,
    hooks,
    async rage(stormMs) {
      hurrying = hurry(stack, () => over)
      const endMs = performance.now() + stormMs
      const isOn = () => performance.now() < endMs
      for (const { owner, campaignId } of customers) await started(owner, campaignId)
      await Promise.all([
        ...customers.map((customer, index) => keepAsking(customer, KINDS[index]!, isOn, asking)),
        callIn(stack, customers, isOn),
      ])
    },
    settled: async () => void (await Promise.all(asking)),
    async stop() {
      over = true
      await hurrying
    },
  }
}

async function prepare(stack: Stack, phones: Phones, kind: Kind, path: string): Promise<Customer> {
  const owner = await stack.owner({
    money: kind.money,
    trunk: { port: phones.port, max_cps: 20 },
    webhook: `${stack.world.url}${path}/${kind.name}`,
    project: { ring_timeout_seconds: 5, max_call_seconds: 10, greeting: 'Hello.' },
  })
  const always = { timezone: 'UTC', window_start: '00:00', window_end: '00:00', quiet_hours: null }
  const params = { ...always, concurrency: 3, retries: kind.retries, retry_interval_min: 1 }
  const made = await owner.rest('POST', '/campaigns', {
    name: kind.name,
    project_id: owner.projectId,
    task: null,
    params,
  })
  if (made.status !== 201) throw new Error(`POST /campaigns: ${made.status} ${JSON.stringify(made.body)}`)
  const contacts = Array.from({ length: CONTACTS[kind.name] }, (_, n) => `+1212${kind.numbersFrom + 100_000 + n}`)
  const entries = contacts.map(phone => ({ phone }))
  const added = await owner.rest('POST', `/campaigns/${made.body.id}/contacts`, entries)
  if (added.body.accepted !== contacts.length) throw new Error(`contacts: ${JSON.stringify(added.body)}`)
  return { name: kind.name, owner, wishes: [], campaignId: made.body.id, contacts }
}

async function started(owner: Owner, id: string): Promise<void> {
  const { status, body } = await owner.rest('POST', `/campaigns/${id}/start`, { consent: true })
  if (body.status !== 'running') throw new Error(`POST …/start: ${status} ${JSON.stringify(body)}`)
}

// Clients.

async function keepAsking(
  customer: Customer,
  kind: Kind,
  isOn: () => boolean,
  asking: Set<Promise<void>>,
): Promise<void> {
  for (let n = 0; isOn(); n++) {
    const wish: Wish = { phone: `+1212${kind.numbersFrom + n}`, outcome: 'open', callId: null, why: null }
    customer.wishes.push(wish)
    asking.add(ask(customer.owner, wish))
    await wait(kind.everyMs)
  }
}

/**
 * Retries as the API documentation advises: the same key and body, with growing delays, until there is a final answer.
 */
async function ask(owner: Owner, wish: Wish): Promise<void> {
  const headers = { 'idempotency-key': randomUUID() }
  const body = { project_id: owner.projectId, phone: wish.phone }
  const giveUpMs = performance.now() + CLIENT_PATIENCE_MS
  for (let delayMs = 500; performance.now() < giveUpMs; delayMs = Math.min(2 * delayMs, 4000)) {
    const answer = await owner.rest('POST', '/calls', body, { headers, timeoutMs: CLIENT_TIMEOUT_MS }).catch(() => null)
    if (answer?.status === 201) {
      wish.outcome = 'placed'
      wish.callId = answer.body.id
      return
    }
    wish.why = answer && `${answer.status} ${answer.body.code}`
    const mayChange =
      !answer || answer.status >= 500 || answer.status === 429 || answer.body.code === 'idempotency_in_flight'
    if (!mayChange) {
      wish.outcome = 'refused'
      return
    }
    await wait(delayMs)
  }
}

/** sipp places one call after the other and accepts any outcome. */
async function callIn(stack: Stack, customers: readonly Customer[], isOn: () => boolean): Promise<void> {
  const steps = [
    ...[request('INVITE', sdp()), maybeAnswer(100), maybeAnswer(180), maybeAnswer(183)],
    ...[expectAnswer(200, 'rrs="true"'), request('ACK'), pause(2500)],
    ...[request('BYE', [], { cseq: 2 }), expectAnswer(200)],
  ]
  for (let n = 0; isOn(); n++) {
    await startSipp(stack, steps, { seconds: 25, calls: customers[n % customers.length]!.owner.number })
    await wait(INBOUND_EVERY_MS)
  }
}

// Waiting times that the test skips.

/** Skips the minute between two attempts to call a contact or to deliver a webhook. */
async function hurry({ parts: { sql } }: Stack, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    await Promise.all([
      sql`update campaign_contacts set next_attempt_at = now() where status = 'pending' and next_attempt_at > now()`,
      sql`update parley_jobs.job set start_after = now()
        where name = 'webhook.deliver' and state < 'active' and start_after > now()`,
    ]).catch(() => {}) // the database is unavailable
    await wait(HURRY_MS)
  }
}

// Webhook receivers.

/** Fails the first attempt of some deliveries: with an error, or without an answer. */
function receiveHooks(stack: Stack): Hooks {
  const hooks: Hooks = { path: '/hook', taken: [] }
  const seen = new Set<string>()
  stack.world.on(hooks.path, (got, response) => {
    const id = String(got.headers['webhook-id'])
    const isFirst = !seen.has(id)
    seen.add(id)
    if (isFirst && seen.size % 5 === 0) return void response.writeHead(500).end()
    if (isFirst && seen.size % 17 === 0) return // hangs until the client gives up
    hooks.taken.push(got)
    response.writeHead(204).end()
  })
  return hooks
}

const wait = (ms: number) => new Promise<void>(resolve => setTimeout(resolve, ms))
