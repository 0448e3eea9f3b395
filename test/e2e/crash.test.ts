/** Processes killed in the middle of a call: the conversation is stored, the cost is right, and the next call works. */
import { afterAll, beforeAll, expect, inject } from 'vitest'
import { needs } from '../support/needs.ts'
import { type Stack, startStack } from '../support/stack.ts'
import { type Baresip, startBaresip } from '../support/stack-baresip.ts'
import { expectCost, expectSettled, expectWebhook } from '../support/stack-checks.ts'
import type { Owner } from '../support/stack-owner.ts'
import { isLoud, type Tap, tapRtp } from '../support/stack-wire.ts'
import { until } from '../support/world.ts'

const { describe, it } = needs('baresip', 'tcpdump')

const CALLEE = '+14155550166'
let stack: Stack
let tap: Tap
let phone: Baresip
let owner: Owner
beforeAll(async () => {
  stack = await startStack({}, { ownSpeech: true })
  tap = await tapRtp(stack)
  stack.world.on('/hook', (_, response) => response.writeHead(204).end())
  phone = await startBaresip(stack, CALLEE)
  owner = await stack.owner({
    trunk: { port: phone.port },
    webhook: `${stack.world.url}/hook`,
    project: { greeting: 'Hello, this is the night porter.' },
  })
})
afterAll(() => stack?.stop())

let calls = 0
/** A call out that has been answered and greeted. */
async function talk() {
  const call = await owner.place(CALLEE)
  calls++
  await phone.wait('CALL_INCOMING', 20_000, calls)
  await phone.command('accept')
  await call.agentSaid(1)
  return call
}

const loud = () => tap.packets({ to: phone.isMedia }).filter(isLoud).length
const webhooksOf = (id: string) =>
  stack.world.received.filter(({ path, body }) => path === '/hook' && body.includes(id))
const told = (text: string) => until(() => stack.told.includes(text), text, 30_000)

async function back(name: string): Promise<void> {
  await told(`${name} is back.`)
  stack.told.length = 0
}

describe('kill -9 in mid-call', () => {
  it('of the engine: the call is closed and charged, the phone is hung up, the next call works', {
    timeout: 180_000,
  }, async () => {
    const call = await talk()
    await until(async () => (await progressOf(call.id)) >= 5000, 'the first progress report', 15_000)
    const engine = await stack.engineOf(call.id)
    process.kill(engine.child.pid, 'SIGKILL')
    await told(`${engine.title} exited (SIGKILL). Restarting.`)
    await phone.wait('CALL_CLOSED')
    await call.ended()
    await back(engine.title)

    const detail = await owner.detail(call.id)
    expect(detail).toMatchObject({ status: 'failed', ended_reason: 'engine_lost' })
    expect(detail.transcript.map(turn => turn.heard_text)).toEqual(['Hello, this is the night porter.'])
    expect(detail.billed_seconds).toBeGreaterThanOrEqual(5)
    expectCost(detail)
    const webhook = await expectWebhook(stack, owner, call.id, 'call.failed')
    expect(JSON.parse(webhook.body).data).toEqual({ status: 'failed', ended_reason: 'engine_lost', sip_code: null })
    await expectSettled(stack, owner)

    const next = await talk()
    await phone.command('hangup')
    await next.ended()
    expect(await owner.detail(next.id)).toMatchObject({ status: 'completed', ended_reason: 'caller_hangup' })
    await expectSettled(stack, owner)
  })

  it('of the engine while ringing: the phone stops ringing, queued calls are dialled afterwards', {
    skip: !inject('full'),
    timeout: 180_000,
  }, async () => {
    const closed = phone.events.filter(({ type }) => type === 'CALL_CLOSED').length
    const call = await owner.place(CALLEE)
    await phone.wait('CALL_INCOMING', 20_000, ++calls)
    // A few milliseconds after its INVITE an engine has not yet written what a drachtio-server needs to end it.
    await call.wait('call.ringing')
    const engine = await stack.engineOf(call.id)
    process.kill(engine.child.pid, 'SIGKILL')
    const next = await owner.place(CALLEE)
    await phone.wait('CALL_CLOSED', 10_000, closed + 1)
    await call.ended()
    expect(await owner.detail(call.id)).toMatchObject({
      status: 'failed',
      ended_reason: 'engine_lost',
      billed_seconds: 0,
    })
    await phone.wait('CALL_INCOMING', 20_000, ++calls)
    await phone.command('hangup')
    await next.ended()
    expect(await owner.detail(next.id)).toMatchObject({ status: 'busy', ended_reason: 'busy', sip_code: 486 })
    await back(engine.title)
    await expectSettled(stack, owner)
  })

  it('of control: the conversation continues, and the end is stored once', { timeout: 240_000 }, async () => {
    const words = await stack.speech.say('Please wake me up very early in the morning.')
    const call = await talk()
    process.kill(stack.children.control.pid, 'SIGKILL')
    await told('Control exited (SIGKILL). Restarting.')
    const before = loud()
    await phone.speak(words)
    await tap.wait(() => loud() > before + 50, 'the answer of an agent without control')
    await back('Control')
    const again = await owner.follow(call.id)
    await again.wait('turn.finished', ({ turn }) => turn.role === 'caller')
    // Events that the dead process had received but not stored are delivered too: three turns.
    await again.wait('turn.finished', ({ turn }) => /night porter/.test(turn.text))
    await again.wait('turn.finished', ({ turn }) => turn.role === 'agent' && /message/.test(turn.text))
    await phone.command('hangup')
    await again.ended()
    const detail = await owner.detail(call.id)
    expect(detail).toMatchObject({ status: 'completed', ended_reason: 'caller_hangup' })
    expect(detail.transcript.map(turn => turn.role)).toEqual(['agent', 'caller', 'agent'])
    expectCost(detail)

    // This time the call ends while control is down.
    const second = await talk()
    process.kill(stack.children.control.pid, 'SIGKILL')
    await told('Control exited (SIGKILL). Restarting.')
    await phone.command('hangup')
    await back('Control')
    await (await owner.follow(second.id)).ended()
    expect(await owner.detail(second.id)).toMatchObject({ status: 'completed', ended_reason: 'caller_hangup' })

    for (const { id } of [call, second]) await expectWebhook(stack, owner, id, 'call.completed')
    await expectSettled(stack, owner)
    for (const { id } of [call, second]) {
      const made = await stack.parts.sql`select 1 from webhook_deliveries where body like ${`%${id}%`}`
      expect([made.length, webhooksOf(id).length]).toEqual([1, 1])
    }
  })

  it('of the SIP server: the live call is closed as lost, a queued one waits', {
    skip: !inject('full'),
    timeout: 180_000,
  }, async () => {
    const call = await talk()
    process.kill(stack.children.sipServer.pid, 'SIGKILL')
    await call.ended()
    expect(await owner.detail(call.id)).toMatchObject({ status: 'failed', ended_reason: 'connection_lost' })
    await phone.command('hangup') // no server is left to end it
    // Placed while there is no signalling at all, and dialed when there is.
    const next = await owner.place(CALLEE)
    await back('SIP server')
    await phone.wait('CALL_INCOMING', 20_000, ++calls)
    await phone.command('accept')
    await next.agentSaid(1)
    await phone.command('hangup')
    await next.ended()
    expect(await owner.detail(next.id)).toMatchObject({ status: 'completed', ended_reason: 'caller_hangup' })
    await expectWebhook(stack, owner, call.id, 'call.failed')
    await expectSettled(stack, owner)
  })

  it('of speech: transcription resumes after the restart', {
    skip: !inject('full'),
    timeout: 180_000,
  }, async () => {
    const words = await stack.speech.say('Please bring a second pillow to my room.')
    const call = await talk()
    process.kill(stack.children.speech.pid, 'SIGKILL')
    await back('Speech')
    await phone.speak(words)
    await call.wait('turn.finished', ({ turn }) => turn.role === 'caller' && /pillow/i.test(turn.text))
    await call.agentSaid(2)
    await phone.command('hangup')
    await call.ended()
    expect(await owner.detail(call.id)).toMatchObject({ status: 'completed', ended_reason: 'caller_hangup' })
    await expectSettled(stack, owner)
  })
})

async function progressOf(id: string): Promise<number> {
  const [row] = await stack.parts.sql<{ progress_ms: number }[]>`select progress_ms from calls where id = ${id}`
  return row?.progress_ms ?? 0
}
