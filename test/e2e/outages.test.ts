/**
 * Redis and Postgres outages in the middle of calls: callers notice nothing, and transcript and cost are stored
 * afterwards. Uses its own servers, because those of the run are shared.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, inject } from 'vitest'
import type { Child } from '../../infra/embedded/child.ts'
import { needs } from '../support/needs.ts'
import { type OwnServers, startOwnServers } from '../support/own-servers.ts'
import { signalAll } from '../support/processes.ts'
import { type Stack, startStack } from '../support/stack.ts'
import { type Baresip, startBaresip } from '../support/stack-baresip.ts'
import { expectCost, expectSettled, expectWebhook } from '../support/stack-checks.ts'
import type { CallStream, Owner } from '../support/stack-owner.ts'
import { isLoud, type Tap, tapRtp } from '../support/stack-wire.ts'
import { until } from '../support/world.ts'

const { describe, it } = needs('baresip', 'tcpdump')

const CALLEE = '+14155550177'
/** Longer than any time-out on the way of a call; in the long form half a minute, as long as leases allow and more. */
const OUTAGE_MS = inject('full') ? 30_000 : 7000
const LIMIT_MS = 240_000

let servers: OwnServers
let stack: Stack
let tap: Tap
let phone: Baresip
let owner: Owner
let words: Int16Array

beforeAll(async () => {
  servers = await startOwnServers()
  stack = await startStack(servers.settings)
  tap = await tapRtp(stack)
  stack.world.on('/hook', (_, response) => response.writeHead(204).end())
  phone = await startBaresip(stack, CALLEE)
  words = await stack.speech.say('Please wake me up very early in the morning.')
  owner = await stack.owner({
    trunk: { port: phone.port },
    webhook: `${stack.world.url}/hook`,
    project: { greeting: 'Hello, this is the night porter.' },
  })
}, 180_000)
afterAll(async () => {
  await stack?.stop()
  await servers?.stop()
})
afterEach(() => {
  for (const server of [servers.redis, servers.postgres]) signalAll(server.pid, 'SIGCONT')
})

const loud = () => tap.packets({ to: phone.isMedia }).filter(isLoud).length
let calls = 0
async function talk(): Promise<CallStream> {
  const call = await owner.place(CALLEE)
  await phone.wait('CALL_INCOMING', 20_000, ++calls)
  await phone.command('accept')
  await call.agentSaid(1)
  return call
}

/** The caller speaks, and is answered. */
async function exchange(): Promise<void> {
  const before = loud()
  await phone.speak(words)
  await tap.wait(() => loud() > before + 50, 'the answer of an agent on its own')
}

/** Freezes a server (SIGSTOP) for `OUTAGE_MS`, and calls `run` meanwhile. */
async function frozen(server: Child, run: () => Promise<void>): Promise<void> {
  const over = new Promise<void>(resolve => setTimeout(resolve, OUTAGE_MS))
  signalAll(server.pid, 'SIGSTOP')
  await run()
  await over
  signalAll(server.pid, 'SIGCONT')
}

async function killed(name: 'redis' | 'postgres', words: string, run: () => Promise<void>): Promise<void> {
  servers.told.length = 0
  process.kill(servers[name].pid, 'SIGKILL')
  await run()
  await until(() => servers.told.includes(`${words} is back.`), `${words} to be back`, 30_000)
}

/** The greeting, what the caller said during the outage, what the agent answered to it. */
async function expectWhole(call: CallStream): Promise<void> {
  const again = await followed(call.id)
  await again.ended()
  const detail = await owner.detail(call.id)
  expect(detail).toMatchObject({ status: 'completed', ended_reason: 'caller_hangup' })
  const said = detail.transcript.map(turn => `${turn.role}: ${turn.text}`)
  const asked = said.findLastIndex(turn => /^caller: .*morning/i.test(turn))
  expect(
    said.some(turn => /^agent: .*night porter/.test(turn)),
    said.join('\n'),
  ).toBe(true)
  expect(asked, said.join('\n')).toBeGreaterThanOrEqual(0)
  expect(
    said.slice(asked).some(turn => /^agent: ./.test(turn)),
    said.join('\n'),
  ).toBe(true)
  expectCost(detail)
  const turns = again.events.filter(event => event.type === 'turn.finished')
  const told = turns.map(({ turn }) => `${turn.role}: ${turn.text}`)
  expect(told.sort()).toEqual(said.filter(turn => !turn.startsWith('tool:')).sort())
  await expectWebhook(stack, owner, call.id, 'call.completed')
  expect(webhooksOf(call.id)).toHaveLength(1)
  await expectSettled(stack, owner)
}

/** Control may still be on its way back to the server that it missed. */
const followed = (id: string) => until(() => owner.follow(id).catch(() => null), 'the events of the call', 30_000)
const webhooksOf = (id: string) =>
  stack.world.received.filter(({ path, body }) => path === '/hook' && body.includes(id))

const outbox = (engine: string) => {
  const spool = join(stack.folder, 'spool', engine, 'events')
  if (!existsSync(spool)) return ''
  return readdirSync(spool)
    .map(name => readFileSync(join(spool, name), 'utf8'))
    .join('')
}

describe.each(['redis', 'postgres'] as const)('%s', name => {
  it('hangs for a while: the conversation continues, and no event is lost', {
    skip: !inject('full'),
    timeout: LIMIT_MS,
  }, async () => {
    const call = await talk()
    await frozen(servers[name], exchange)
    await phone.command('hangup')
    await expectWhole(call)
  })

  it('hangs while the call ends: the end is stored later', {
    skip: !inject('full'),
    timeout: LIMIT_MS,
  }, async () => {
    const call = await talk()
    await frozen(servers[name], async () => {
      await exchange()
      await phone.command('hangup')
      await phone.wait('CALL_CLOSED', 10_000, calls)
    })
    await expectWhole(call)
  })

  it('dies and restarts: the conversation continues, and no event is lost', { timeout: LIMIT_MS }, async () => {
    const call = await talk()
    await killed(name, name === 'redis' ? 'Redis' : 'Postgres', exchange)
    await phone.command('hangup')
    await expectWhole(call)
  })
})

it('sends the outbox of an engine that died during a Redis outage', {
  timeout: LIMIT_MS,
}, async () => {
  const call = await talk()
  const { name, title, child } = await stack.engineOf(call.id)
  signalAll(servers.redis.pid, 'SIGSTOP')
  await exchange()
  await phone.command('hangup')
  await until(() => outbox(name).includes('"call.ended"'), 'the end of the call on disk', 20_000)
  stack.told.length = 0
  process.kill(child.pid, 'SIGKILL')
  await until(() => stack.told.includes(`${title} exited (SIGKILL). Restarting.`), 'the engine to be gone')
  signalAll(servers.redis.pid, 'SIGCONT')
  await until(() => stack.told.includes(`${title} is back.`), 'the engine to be back', 60_000)
  await expectWhole(call)
  expect(outbox(name)).toBe('')
})
