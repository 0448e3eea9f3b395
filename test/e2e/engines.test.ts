/**
 * Two engines at one SIP server: calls are spread over both, limits hold across them, each can be restarted in turn,
 * and shared services may be down. LiveKit is down all the time: nothing listens at its configured address.
 */
import { afterAll, beforeAll, expect, inject } from 'vitest'
import { freePort } from '../../infra/embedded/ports.ts'
import type { EngineProcess } from '../support/fleet.ts'
import { livekitBinary, startTestLiveKit } from '../support/livekit.ts'
import { needs } from '../support/needs.ts'
import { HOST, type Stack, startStack } from '../support/stack.ts'
import { expectSettled } from '../support/stack-checks.ts'
import type { CallStream, Owner } from '../support/stack-owner.ts'
import {
  answerInside,
  canceled,
  expectAnswer,
  freeSipPort,
  maybeAnswer,
  pause,
  receive,
  request,
  ringing,
  type Sipp,
  sdp,
  startSipp,
  taken,
} from '../support/stack-sipp.ts'
import { until } from '../support/world.ts'

const { describe, it } = needs('sipp')

const CALLEE = '+14155550177'
/** Call slots of one engine. */
const CAPACITY = 4
const MOST_OF_OWNER = 7
const LIMIT_MS = 240_000
const GREETING = 'Hello.'

let stack: Stack
let first: EngineProcess
let second: EngineProcess
beforeAll(async () => {
  stack = await startStack(
    {
      ENGINE_CAPACITY: String(CAPACITY),
      ENGINE_DRAIN_SECONDS: '120',
      MAX_CALLS_PER_OWNER: String(MOST_OF_OWNER),
      LIVEKIT_URL: `ws://${HOST}:${await freePort(9000, HOST)}`,
      LIVEKIT_API_KEY: 'nobody',
      LIVEKIT_API_SECRET: 'a secret that nobody will ever be asked for',
    },
    { engines: 2, controls: 1 },
  )
  ;[first, second] = stack.engines as [EngineProcess, EngineProcess]
}, 180_000)
afterAll(() => stack?.stop())

// ---- far ends ----

const ringer = (times: number) => startSipp(stack, [...ringing, ...canceled], { times, seconds: 120 })
/** Answers calls until it is stopped. */
const answerer = () => startSipp(stack, taken(), { times: 1000, seconds: 300 })
const CALLING = [
  request('INVITE', sdp()),
  maybeAnswer(100),
  maybeAnswer(180),
  expectAnswer(200, 'rrs="true"'),
  request('ACK'),
]
/** A call in that lasts until the agent hangs up. */
const caller = (owner: Owner) =>
  startSipp(stack, [...CALLING, receive('BYE'), answerInside('200 OK')], { calls: owner.number })
/** A call in that ends as soon as it is answered: fails where it is answered by anything but 200. */
async function callsBriefly(owner: Owner): Promise<void> {
  const brief = [...CALLING, pause(50), request('BYE', [], { cseq: 2 }), expectAnswer(200)]
  await (await startSipp(stack, brief, { calls: owner.number })).done
}
const customer = async (over: Parameters<Stack['owner']>[0]['trunk'] = { port: 9 }) =>
  stack.owner({ trunk: over, project: { greeting: GREETING, ring_timeout_seconds: 60 } })

// ---- what is seen of calls ----

const held = async (calls: readonly { id: string }[]) => {
  const names = await Promise.all(calls.map(async ({ id }) => (await stack.engineOf(id)).name))
  return [first, second].map(({ name }) => names.filter(one => one === name).length)
}
async function hangUp(owner: Owner, calls: readonly CallStream[]): Promise<void> {
  for (const { id } of calls) expect((await owner.rest('POST', `/calls/${id}/hangup`)).status).toBe(200)
  await Promise.all(calls.map(call => call.ended()))
}
const started = (call: CallStream) => call.wait('call.started')
const hasEnded = ({ events }: CallStream) => events.some(({ type }) => type === 'call.ended')
/** Live calls, one at least on each engine: mostly two, but a slow engine may be skipped. */
async function placeOnBoth(owner: Owner): Promise<CallStream[]> {
  const calls: CallStream[] = []
  do {
    calls.push(await owner.place(CALLEE))
    await started(calls.at(-1)!)
  } while ((await held(calls)).includes(0) && calls.length < CAPACITY)
  expect(await held(calls)).not.toContain(0)
  return calls
}
const beats = () => stack.parts.bus.engines()
const beatOf = async ({ name }: EngineProcess) => (await beats()).find(({ engine }) => engine === name)
const told = (text: string) => until(() => stack.told.includes(text), text, 60_000)
/** Waits until both engines are accepting and have no calls. */
async function quiet(): Promise<void> {
  const idle = async () => {
    const all = await beats()
    // One that was full opens a second later at the soonest.
    return (
      all.length === 2 &&
      all.every(({ calls, capacity, accepting }) => calls === 0 && capacity === CAPACITY && accepting)
    )
  }
  await until(idle, 'both engines to be there without a call, and open', 30_000)
}
describe('calls of two engines', () => {
  it("are shared when outbound, within the account's limit", { timeout: LIMIT_MS }, async () => {
    const sipp = await ringer(MOST_OF_OWNER)
    const owner = await customer({ port: sipp.port })
    const calls: CallStream[] = []
    for (let placed = 0; placed < MOST_OF_OWNER - 1; placed++) calls.push(await owner.place(CALLEE))
    await Promise.all(calls.map(call => call.wait('call.ringing')))
    const shares = await held(calls)
    expect(Math.min(...shares), String(shares)).toBeGreaterThanOrEqual(2)
    calls.push(await owner.place(CALLEE))
    await calls.at(-1)!.wait('call.ringing')
    // One place is left on one of the engines.
    const refused = await owner.rest('POST', '/calls', { project_id: owner.projectId, phone: CALLEE })
    expect([refused.status, refused.body.code]).toEqual([409, 'too_many_calls'])
    await hangUp(owner, calls)
    await sipp.done
    await expectSettled(stack, owner)
    await quiet()
  })

  it('are routed to the engine with capacity when inbound, until none is left', { timeout: LIMIT_MS }, async () => {
    const owners = [await customer(), await customer()] as const
    const live: { owner: Owner; sipp: Sipp; call: CallStream }[] = []
    /** Places an inbound call and waits until it has started. The call has an empty id when sipp ends first. */
    async function comes(owner: Owner) {
      const known = (await owner.newest('in'))?.id
      const sipp = await caller(owner)
      const isNew = async () => {
        const newest = await owner.newest('in')
        return newest && newest.id !== known ? newest : null
      }
      const { id } = await Promise.race([until(isNew, 'the call that comes in'), sipp.done.then(() => ({ id: '' }))])
      const call = await owner.follow(id)
      await started(call)
      live.push({ owner, sipp, call })
    }
    async function leaves(which: (typeof live)[number]) {
      live.splice(live.indexOf(which), 1)
      await hangUp(which.owner, [which.call])
      await which.sipp.done
    }
    for (let calls = 0; calls < 6; calls++) await comes(owners[calls % 2]!)
    expect(await held(live.map(({ call }) => call))).toEqual([3, 3])
    // One engine has all its places now but one, the other all.
    for (const each of [...live]) if ((await stack.engineOf(each.call.id)) === first) await leaves(each)
    await until(async () => (await beatOf(first))?.calls === 0, 'the engine to be empty')
    for (let calls = 0; calls < 5; calls++) await comes(owners[calls % 2]!)
    expect(await held(live.map(({ call }) => call))).toEqual([CAPACITY, CAPACITY])
    const ninth = await caller(owners[0])
    await expect(ninth.done).rejects.toThrow(/486/)
    for (const each of [...live]) await leaves(each)
    for (const owner of owners) await expectSettled(stack, owner)
    await quiet()
  })

  it("respect the trunk's max_calls and max_cps together", { timeout: LIMIT_MS }, async () => {
    // More than one engine has places for.
    const most = CAPACITY + 1
    const limited = await ringer(most)
    const some = await customer({ port: limited.port, max_calls: most })
    const body = { project_id: some.projectId, phone: CALLEE }
    const answers = await Promise.all(Array.from({ length: 7 }, () => some.rest('POST', '/calls', body)))
    const placed = answers.filter(({ status }) => status === 201)
    expect([placed.length, answers.filter(({ body }) => body.code === 'too_many_calls').length]).toEqual([most, 2])
    const calls = await Promise.all(placed.map(({ body }) => some.follow(body.id)))
    await Promise.all(calls.map(call => call.wait('call.ringing')))
    expect(Math.min(...(await held(calls)))).toBeGreaterThan(0)
    await hangUp(some, calls)
    await limited.done

    const paced = await ringer(6)
    const other = await customer({ port: paced.port, max_cps: 2 })
    const six = await Promise.all(Array.from({ length: 6 }, () => other.place(CALLEE)))
    await Promise.all(six.map(call => call.wait('call.ringing')))
    expect(Math.min(...(await held(six)))).toBeGreaterThan(0)
    const rung = invitesOf(paced)
    expect(rung.length).toBe(6)
    // Each at its turn, half a second after the one before; what a message takes on its way is the tolerance.
    for (const [index, atMs] of rung.entries()) {
      if (index > 0) expect(atMs - rung[index - 1]!, rung.join()).toBeGreaterThan(350)
    }
    await hangUp(other, six)
    await paced.done
    for (const owner of [some, other]) await expectSettled(stack, owner)
    await quiet()
  })

  it('survive a rolling restart, and no inbound call is rejected', { timeout: LIMIT_MS }, async () => {
    const sipp = await answerer()
    const owner = await customer({ port: sipp.port })
    const placed: CallStream[] = []
    let brief = 0
    for (const [leaving, staying] of [
      [first, second],
      [second, first],
    ] as const) {
      await quiet()
      stack.told.length = 0
      const live = await placeOnBoth(owner)
      const boot = (await beatOf(leaving))!.boot
      // Calls are placed one after another, from before the drain until the engine is back.
      let calling = true
      const callers = (async () => {
        for (; calling; brief++) await callsBriefly(owner)
      })()
      callers.catch(() => {}) // awaited below
      const before = brief
      await Promise.race([callers, until(() => brief > before, 'a call before it')])
      process.kill(leaving.child.pid, 'SIGTERM')
      await until(async () => (await beatOf(leaving))?.capacity === 0, 'the engine to leave')
      const next = await owner.place(CALLEE)
      await started(next)
      expect((await stack.engineOf(next.id)).name).toBe(staying.name)
      expect(live.filter(hasEnded)).toEqual([])
      for (const call of live) if ((await stack.engineOf(call.id)) === leaving) await hangUp(owner, [call])
      await told(`${leaving.title} is back.`)
      const isBack = async () => {
        const beat = await beatOf(leaving)
        return beat && beat.boot !== boot && beat.capacity > 0
      }
      await until(isBack, 'the engine to take calls again')
      const after = brief
      await Promise.race([callers, until(() => brief > after + 1, 'calls after it')])
      calling = false
      await callers
      placed.push(...live, next)
      expect((await held(live.filter(call => !hasEnded(call)))).filter(calls => calls > 0).length).toBe(1)
      await hangUp(
        owner,
        [...live, next].filter(call => !hasEnded(call)),
      )
    }
    await sipp.stop()
    for (const { id } of placed) {
      expect(await owner.detail(id)).toMatchObject({ status: 'completed', ended_reason: 'api_hangup' })
    }
    const shown = await allOf(owner, '/calls?direction=in&')
    expect(shown.length).toBe(brief)
    for (const call of shown) expect(call).toMatchObject({ status: 'completed', ended_reason: 'caller_hangup' })
    await expectSettled(stack, owner)
    await expectOneCharge(owner, placed.length + brief)
    await quiet()
  })

  it('end as lost when the SIP server dies, and both engines recover', {
    timeout: LIMIT_MS,
  }, async () => {
    stack.told.length = 0
    const talking = await answerer()
    const owner = await customer({ port: talking.port })
    const lost = await placeOnBoth(owner)
    process.kill(stack.children.sipServer.pid, 'SIGKILL')
    await Promise.all(lost.map(call => call.ended()))
    for (const { id } of lost) {
      expect(await owner.detail(id)).toMatchObject({ status: 'failed', ended_reason: 'connection_lost' })
    }
    await expectSettled(stack, owner)
    await expectOneCharge(owner, lost.length)
    await told('SIP server is back.')
    await quiet()

    const again = await placeOnBoth(owner)
    for (let calls = 0; calls < 4; calls++) await callsBriefly(owner)
    await hangUp(owner, again)
    for (const { id } of again) expect(await owner.detail(id)).toMatchObject({ status: 'completed' })
    await talking.stop()
    await expectSettled(stack, owner)
    await quiet()
  })
})

describe.runIf(inject('full') && livekitBinary !== null)('LiveKit crash', () => {
  it('affects no SIP call', { timeout: LIMIT_MS }, async () => {
    const livekit = await startTestLiveKit()
    const own = await startStack(
      { LIVEKIT_URL: livekit.url, LIVEKIT_API_KEY: livekit.apiKey, LIVEKIT_API_SECRET: livekit.apiSecret },
      { engines: 1, controls: 1 },
    )
    try {
      const sipp = await startSipp(own, taken(), { times: 2, port: await freeSipPort(), seconds: 120 })
      const owner = await own.owner({ trunk: { port: sipp.port }, project: { greeting: GREETING } })
      const live = await owner.place(CALLEE)
      await live.agentSaid(1)
      await livekit.kill()
      const next = await owner.place(CALLEE)
      await next.agentSaid(1)
      await new Promise(resolve => setTimeout(resolve, 10_000)) // longer than control's sweeps and time-outs of it
      await hangUp(owner, [live, next])
      await sipp.done
      for (const { id } of [live, next]) {
        expect(await owner.detail(id)).toMatchObject({ status: 'completed', ended_reason: 'api_hangup' })
      }
      await expectSettled(own, owner)
    } finally {
      await own.stop()
      await livekit.stop()
    }
  })
})

/** When sipp got the first INVITE of each call, in its log's time. */
function invitesOf(sipp: Sipp): number[] {
  const seen = new Map<string, number>()
  for (const message of sipp.messages().split(/^-{20,} /m)) {
    const at = /^(\d{4}-\d\d-\d\d)[ T]+(\d\d:\d\d:\d\d\.\d+)/.exec(message)
    const callId = /^Call-ID: *(.+?)\r?$/im.exec(message)?.[1]
    if (!at || !callId || !/received/.test(message) || !/^INVITE /m.test(message) || seen.has(callId)) continue
    seen.set(callId, Date.parse(`${at[1]}T${at[2]}Z`))
  }
  return [...seen.values()].sort((one, other) => one - other)
}

/** Every page of a list that nothing is added to. */
async function allOf(owner: Owner, path: string): Promise<unknown[]> {
  const items: unknown[] = []
  for (;;) {
    const { body } = await owner.rest('GET', `${path}limit=100&offset=${items.length}`)
    items.push(...body.items)
    if (items.length >= body.total) return items
  }
}

/** The hold of each call is settled exactly once. */
async function expectOneCharge(owner: Owner, calls: number): Promise<void> {
  const entries = (await allOf(owner, '/balance/entries?')) as { kind: string; call_id: string }[]
  const settled = entries.filter(({ kind }) => kind === 'settle')
  expect(settled.length).toBe(calls)
  expect(new Set(settled.map(({ call_id }) => call_id)).size).toBe(calls)
}
