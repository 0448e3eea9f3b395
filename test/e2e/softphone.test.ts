/** Softphones against the running product: baresip registers, talks to its agent, and is called by it. */
import { afterAll, beforeAll, expect } from 'vitest'
import { needs } from '../support/needs.ts'
import { type Stack, startStack } from '../support/stack.ts'
import { type Baresip, greeted, startBaresip } from '../support/stack-baresip.ts'
import { expectCost, expectHeard, expectSettled, LETTER_ERRORS } from '../support/stack-checks.ts'
import type { Owner } from '../support/stack-owner.ts'
import { letterErrors } from '../support/stack-speech.ts'
import { soundOf, type Tap, tapRtp } from '../support/stack-wire.ts'
import { until } from '../support/world.ts'

const { describe, it } = needs('baresip', 'tcpdump')

let stack: Stack
let tap: Tap
beforeAll(async () => {
  stack = await startStack()
  tap = await tapRtp(stack)
})
afterAll(() => stack?.stop())

const agentSound = (phone: Baresip) => tap.packets({ to: phone.isMedia })
const GREETING = 'Welcome to the city museum. What would you like to know?'

/** A telephone of this owner's, as a newcomer sets it up. */
async function register(owner: Owner, phone: Baresip, transport: 'udp' | 'tcp') {
  const made = await owner.rest('POST', '/softphones', { name: 'Desk', project_id: owner.projectId })
  const { id, username, password, settings } = made.body
  expect(settings).toMatchObject({ server: stack.sip.host, port: stack.sip.port })
  const where = `${settings.server}:${settings.port};transport=${transport}`
  const options = `auth_user=${username};auth_pass=${password};regint=60;answermode=manual;audio_codecs=PCMU/8000/1`
  await phone.command('uanew', `<sip:${username}@${where}>;${options}`)
  await phone.wait('REGISTER_OK')
  await phone.command('uafind', `sip:${username}@${settings.server}:${settings.port}`)
  return { id, username, status: async () => (await owner.rest('GET', `/softphones/${id}`)).body.status }
}

describe.concurrent('a softphone', () => {
  it('over UDP talks to its agent by dialing it', { timeout: 180_000 }, async () => {
    const transport = 'udp'
    const phone = await startBaresip(stack, 'nobody')
    const owner = await stack.owner({ trunk: { port: phone.port }, project: { greeting: GREETING } })
    const desk = await register(owner, phone, transport)
    expect(await desk.status()).toMatchObject({ registered: true, contacts: [{ transport }] })
    const question = 'Please tell the director that the old lighthouse has been repaired.'
    const sound = await stack.speech.say(question)

    const { id, call } = await greeted(
      phone,
      owner,
      `sip:agent@${stack.sip.host}:${stack.sip.port};transport=${transport}`,
    )
    await phone.speak(sound)
    const heard = await call.wait('turn.finished', event => event.turn.role === 'caller')
    expect(letterErrors(question, heard.turn.text)).toBeLessThanOrEqual(LETTER_ERRORS)
    await call.agentSaid(2)
    await phone.command('hangup')
    await call.ended()

    const detail = await owner.detail(id)
    expect(detail).toMatchObject({ status: 'completed', direction: 'in', from: desk.username, to: 'agent' })
    await expectHeard(stack.speech, soundOf(agentSound(phone)), detail)
    expectCost(detail)
    await expectSettled(stack, owner)
  })

  it('over TCP is called by its agent', { timeout: 180_000 }, async () => {
    const transport = 'tcp'
    const phone = await startBaresip(stack, 'nobody-called')
    const owner = await stack.owner({ trunk: { port: phone.port }, project: { greeting: GREETING } })
    const desk = await register(owner, phone, transport)
    const sound = await stack.speech.say('When does the museum open on Sunday?')
    const call = await owner.place(desk.username)
    const incoming = await phone.wait('CALL_INCOMING')
    expect(incoming.peeruri).toMatch(/^sip:agent@/)
    await call.wait('call.ringing')
    await phone.command('accept')
    await call.agentSaid(1)
    await phone.speak(sound)
    const heard = await call.wait('turn.finished', event => event.turn.role === 'caller')
    expect(heard.turn.text).toMatch(/museum/i)
    await phone.command('hangup')
    await call.ended()

    const detail = await owner.detail(call.id)
    expect(detail).toMatchObject({ status: 'completed', direction: 'out', from: 'agent', to: desk.username })
    await expectHeard(stack.speech, soundOf(agentSound(phone)), detail)
    await phone.command('uadel', `sip:${desk.username}@${stack.sip.host}:${stack.sip.port}`)
    await until(async () => !(await desk.status()).registered, 'the telephone to be gone')
    const missed = await owner.place(desk.username)
    await missed.ended()
    expect(await owner.detail(missed.id)).toMatchObject({ status: 'no_answer', ended_reason: 'no_answer' })
    await expectSettled(stack, owner)
  })
})
