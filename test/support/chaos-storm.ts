/**
 * What customers do while processes are struck: calls by REST from careful clients, calls that come in, a campaign each, and
 * receivers of webhooks that fail now and then. Two accounts, and one of them has hardly any money.
 */
import { randomUUID } from 'node:crypto'
import type { Phones } from './chaos-phones.ts'
import type { Stack } from './stack.ts'
import type { Owner } from './stack-owner.ts'
import { expectAnswer, maybeAnswer, pause, request, sdp, startSipp } from './stack-sipp.ts'
import type { Got } from './stack-world.ts'

/** A call that a client wants to be made, once. */
export interface Wish {
  phone: string
  /** `placed`: 201; `refused`: a verdict of the interface; `open`: no verdict yet. */
  outcome: 'placed' | 'refused' | 'open'
  callId: string | null
  /** What was answered instead. */
  why: string | null
}

export interface Customer {
  name: string
  owner: Owner
  wishes: Wish[]
  campaignId: string
  /** Of the campaign. */
  contacts: string[]
}

export interface Storm {
  customers: readonly Customer[]
  hooks: Hooks
  /** Until then clients go on asking; campaigns and deliveries never wait for their minutes. */
  rage(stormMs: number): Promise<void>
  /** Clients have their answers, or have given up. */
  settled(): Promise<void>
  stop(): Promise<void>
}

/** What a receiver of webhooks saw. */
export interface Hooks {
  path: string
  /** Deliveries that were taken with 204: the requests. */
  taken: Got[]
}

const CLIENT_TIMEOUT_MS = 5000
/** An Idempotency-Key whose process was killed is free again after a minute. */
const CLIENT_PATIENCE_MS = 90_000
const INBOUND_EVERY_MS = 4000
const HURRY_MS = 500
const CONTACTS = { rich: 10, poor: 5 }

interface Kind {
  name: 'rich' | 'poor'
  money: string
  retries: number
  /** Between the wishes of its client. */
  everyMs: number
  /** Of its numbers; one number a call, one number a contact. */
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

// ---- clients ----

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

/** As the interface tells clients to do: the same key and body until there is a verdict, each time a little later. */
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

/** sipp calls one after the other, and whatever comes of it is right for it. */
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

// ---- what is waited for in minutes, at once ----

/** The minute between two attempts to call somebody, and to deliver something, is not waited for. */
async function hurry({ parts: { sql } }: Stack, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    await Promise.all([
      sql`update campaign_contacts set next_attempt_at = now() where status = 'pending' and next_attempt_at > now()`,
      sql`update parley_jobs.job set start_after = now()
        where name = 'webhook.deliver' and state < 'active' and start_after > now()`,
    ]).catch(() => {}) // the database is away
    await wait(HURRY_MS)
  }
}

// ---- receivers ----

/** The first attempt of some deliveries fails: an error, or no answer at all. */
function receiveHooks(stack: Stack): Hooks {
  const hooks: Hooks = { path: '/hook', taken: [] }
  const seen = new Set<string>()
  stack.world.on(hooks.path, (got, response) => {
    const id = String(got.headers['webhook-id'])
    const isFirst = !seen.has(id)
    seen.add(id)
    if (isFirst && seen.size % 5 === 0) return void response.writeHead(500).end()
    if (isFirst && seen.size % 17 === 0) return // it hangs until it is given up
    hooks.taken.push(got)
    response.writeHead(204).end()
  })
  return hooks
}

const wait = (ms: number) => new Promise<void>(resolve => setTimeout(resolve, ms))
