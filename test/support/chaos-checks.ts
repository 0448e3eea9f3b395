/** Checks after a storm: in Postgres, in Redis, and at the called phones and webhook receivers. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { contradictions } from '../control/campaigns/dialing.ts'
import type { Phones } from './chaos-phones.ts'
import type { Customer, Storm } from './chaos-storm.ts'
import type { Victims } from './chaos-strike.ts'
import type { EngineProcess } from './fleet.ts'
import { descendantsOf } from './processes.ts'
import type { Stack } from './stack.ts'
import { signatureOf } from './stack-world.ts'
import { until } from './world.ts'

export interface Scene {
  stack: Stack
  storm: Storm
  phones: Phones
  victims: Victims
}

/** Waits until no call, delivery or campaign is in progress. Returns what still is. */
export async function quiet({ parts }: Stack, ms: number): Promise<string[]> {
  let left: string[] = ['the database does not answer']
  const look = async () => {
    left = await underWay(parts.sql).catch(error => [`the database does not answer: ${(error as Error).message}`])
    return left.length === 0
  }
  await until(look, 'the end of the storm', ms).catch(() => {})
  return left
}

async function underWay(sql: Stack['parts']['sql']): Promise<string[]> {
  const rows = await sql<{ what: string }[]>`
    select 'call ' || id || ' is ' || status || ' since ' || created_at || ', at ' || coalesce(engine, 'no engine') as what
      from calls where ended_at is null
    union all select 'delivery ' || id || ' of ' || event || ' after ' || attempts || ' attempts'
      from webhook_deliveries where status = 'pending'
    union all select 'campaign ' || name || ' is running' from campaigns where status = 'running'
    union all select 'contact ' || c.phone || ' is ' || c.status || ' after ' || c.attempts || ' attempts'
      from campaign_contacts c join campaigns on campaigns.id = c.campaign_id
      where campaigns.status = 'running' and c.status in ('pending', 'dialing', 'in_progress')`
  return rows.map(({ what }) => what)
}

/** All inconsistencies, in words. */
export async function judge(scene: Scene): Promise<string[]> {
  const { stack, storm, phones, victims } = scene
  const found = [
    ...(await contradictions({ deps: stack.parts as never })),
    ...(await wrongEnds(stack)),
    ...(await wrongMoney(stack)),
  ]
  for (const customer of storm.customers) {
    found.push(...(await wrongWishes(stack, customer)), ...(await wrongDeliveries(stack, storm, customer)))
  }
  found.push(...(await wrongRings(stack, phones)), ...zombies(victims))
  for (const engine of stack.engines) found.push(...(await heldPorts(engine)), ...untold(stack, engine))
  const buried = await stack.parts.redis.xlen(`${stack.env['REDIS_PREFIX']}:events:dead`)
  if (buried > 0) found.push(`${buried} events were given up`)
  return found
}

async function wrongEnds({ parts: { sql } }: Stack): Promise<string[]> {
  const rows = await sql<{ what: string }[]>`
    select 'call ' || id || ' has no end: ' || status as what from calls
      where ended_at is null or ended_reason is null
        or status not in ('completed', 'no_answer', 'busy', 'failed', 'canceled')
    union all select 'call ' || id || ' costs ' || coalesce(cost::text, 'nothing known') || ' for ' ||
        coalesce(billed_seconds::text, 'no') || ' seconds' from calls
      where cost is null or billed_seconds is null
        or cost <> round(price * factor_percent * billed_seconds / 6000.0)
    union all select 'campaign ' || name || ' is ' || status || coalesce(': ' || pause_reason, '') from campaigns
      where status not in ('completed', 'paused')`
  return rows.map(({ what }) => what)
}

async function wrongMoney({ parts: { sql } }: Stack): Promise<string[]> {
  const rows = await sql<{ what: string }[]>`
    select 'hold of call ' || call_id || ' is open' as what from holds where captured is null
    union all select 'call ' || id || ' has no hold' from calls
      where not exists (select 1 from holds where holds.call_id = calls.id)
    union all select owner_id || ' still has ' || held || ' held for ' || open_holds || ' calls' from balances
      where held <> 0 or open_holds <> 0
    union all select owner_id || ' was below zero' from ledger_entries where balance_after < 0
    union all select b.owner_id || ' has ' || available || ', and not what funding and calls leave' from balances b
      where available <> (select coalesce(-sum(amount), 0) from ledger_entries e
          where e.owner_id = b.owner_id and account = 'funding')
        - (select coalesce(sum(cost), 0) from calls where calls.owner_id = b.owner_id)`
  return rows.map(({ what }) => what)
}

/**
 * Compares answers to clients with what happened: one call for a 201, none for a refusal, at most one without a final
 * answer.
 */
async function wrongWishes({ parts: { sql } }: Stack, { name, owner, wishes }: Customer): Promise<string[]> {
  const rows = await sql<{ id: string; to_phone: string }[]>`
    select id, to_phone from calls where owner_id = ${owner.id} and direction = 'out' and campaign_id is null`
  const made = Map.groupBy(rows, row => row.to_phone)
  return wishes.flatMap(({ phone, outcome, callId, why }) => {
    const ids = (made.get(phone) ?? []).map(({ id }) => id)
    const told = `${name} ${phone}: ${outcome}${why ? ` (${why})` : ''}, calls ${ids.join(' ') || 'none'}`
    if (outcome === 'placed') return ids.length === 1 && ids[0] === callId ? [] : [`${told}, told ${callId}`]
    if (outcome === 'open') return [`${told}: its client never had an answer`]
    const refusals = /insufficient_balance|too_many_calls/
    return ids.length === 0 && refusals.test(why ?? '') ? [] : [told]
  })
}

/**
 * Checked from outside: at any moment a number has rung at most as often as calls to it had been created. Each number
 * belongs to one client request or one contact, so none has rung twice for one attempt.
 */
async function wrongRings({ parts: { sql } }: Stack, { rings }: Phones): Promise<string[]> {
  const calls = await sql<{ to_phone: string; created_at: Date; answered_at: Date | null }[]>`
    select to_phone, created_at, answered_at from calls where direction = 'out' order by created_at`
  const made = Map.groupBy(calls, call => call.to_phone)
  const rung = Map.groupBy(rings, ring => ring.number)
  const found: string[] = []
  for (const [number, times] of rung) {
    const attempts = (made.get(number) ?? []).map(({ created_at }) => created_at.getTime())
    const ahead = times.findIndex(({ atMs }, index) => attempts.filter(at => at <= atMs).length <= index)
    if (ahead < 0) continue
    const list = times.map(({ atMs, sipCallId }) => `${new Date(atMs).toISOString()} ${sipCallId}`).join(', ')
    found.push(`${number} rang ${times.length} times (${list}) for ${attempts.length} calls`)
  }
  for (const { to_phone, answered_at } of calls)
    if (answered_at !== null && !rung.has(to_phone)) found.push(`${to_phone} never rang, and is said to have answered`)
  return found
}

/** The end of each call produces one event, delivered at least once and signed with the owner's secret. */
async function wrongDeliveries({ parts: { sql } }: Stack, { hooks }: Storm, customer: Customer): Promise<string[]> {
  const { name, owner } = customer
  const ended = await sql<
    { id: string; status: string; deliveries: { id: string; event: string; status: string }[] }[]
  >`
    select calls.id, calls.status, coalesce((
      select json_agg(json_build_object('id', d.id, 'event', d.event, 'status', d.status)) from webhook_deliveries d
      where d.owner_id = calls.owner_id and d.body::jsonb ->> 'call_id' = calls.id::text), '[]') as deliveries
    from calls where owner_id = ${owner.id}`
  const taken = Map.groupBy(hooks.taken, got => String(got.headers['webhook-id']))
  return ended.flatMap(({ id, status, deliveries }) => {
    const wanted = status === 'completed' ? 'call.completed' : 'call.failed'
    const [delivery, ...more] = deliveries
    if (!delivery || more.length > 0) return [`${deliveries.length} events of the end of call ${id}`]
    const got = taken.get(delivery.id) ?? []
    const wrong = [
      ...(delivery.event === wanted ? [] : [`${delivery.event} of a call that is ${status}`]),
      ...(delivery.status === 'delivered' ? [] : [`it is ${delivery.status}`]),
      ...(got.length > 0 ? [] : ['its receiver never took it']),
      ...(got.every(one => one.headers['x-svc-signature'] === signatureOf(one, owner.webhookSecret!))
        ? []
        : ['a wrong signature']),
      ...(got.every(one => JSON.parse(one.body).call_id === id && one.path.endsWith(name))
        ? []
        : ['a body of another call']),
    ]
    return wrong.map(what => `webhook ${delivery.id} of call ${id}: ${what}`)
  })
}

// Leftovers of processes.

function zombies(victims: Victims): string[] {
  return Object.entries(victims).flatMap(([name, { pid }]) =>
    descendantsOf(pid)
      .filter(child => stateOf(child) === 'Z')
      .map(child => `${name} has not buried its child ${child}`),
  )
}

function stateOf(pid: number): string | null {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)![0]!
  } catch {
    return null
  }
}

/** RTP sockets of ended calls. */
async function heldPorts({ title, child, rtp }: EngineProcess): Promise<string[]> {
  const held = () => udpPortsOf(child.pid).filter(port => port >= rtp.min && port <= rtp.max)
  await until(() => held().length === 0, 'its ports to be free').catch(() => {})
  const ports = held()
  return ports.length > 0 ? [`${title} holds the ports ${ports.join(' ')} without a call`] : []
}

/** proc(5): sockets among its open files, by their inodes in the UDP table. */
function udpPortsOf(pid: number): number[] {
  const inodes = new Set(
    readdirSync(`/proc/${pid}/fd`).map(fd => {
      try {
        return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1]
      } catch {
        return undefined // it was closed meanwhile
      }
    }),
  )
  return readFileSync('/proc/net/udp', 'latin1')
    .split('\n')
    .slice(1)
    .map(line => line.trim().split(/\s+/))
    .filter(fields => fields[9] !== undefined && inodes.has(fields[9]))
    .map(fields => Number.parseInt(fields[1]!.split(':')[1]!, 16))
}

/** Events in an engine's outbox that are still unsent. */
function untold(stack: Stack, { title, name }: EngineProcess): string[] {
  const folder = join(stack.folder, 'spool', name, 'events')
  try {
    const text = readdirSync(folder)
      .map(file => readFileSync(join(folder, file), 'utf8'))
      .join('')
    return text === '' ? [] : [`${title} has ${text.trim().split('\n').length} events on disk that it has not told`]
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}
