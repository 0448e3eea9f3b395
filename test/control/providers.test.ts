/** Vendors that a project chooses: what is saved, what a call's plan says of them, and where their keys go. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createDialer } from '../../control/telephony/calls/dialer.ts'
import type { PlaceCommand } from '../../media/contract/messages.ts'
import { CallPlan, PlanSecrets } from '../../media/contract/plan.ts'
import { plan as somePlan } from '../fakes/plan.ts'
import { createControl, createTenant, nextPhone, type Tenant, type TestControl } from '../support/control.ts'

let control: TestControl
beforeAll(async () => {
  control = await createControl()
})
afterAll(() => control?.close())

const chosen = {
  brain: { kind: 'anthropic', model: 'claude-haiku-4-5', api_key_secret: 'ANTHROPIC' },
  brain_fallback: [
    { kind: 'google', model: 'gemini-3-flash-preview', api_key_secret: 'GOOGLE' },
    { kind: 'openai_compatible', base_url: 'https://llm.test/v1', model: 'm', api_key_secret: null },
  ],
  speech_to_text: [
    { provider: 'deepgram', model: 'nova-3', api_key_secret: 'DEEPGRAM' },
    { provider: 'yandex_speechkit', api_key_secret: 'YANDEX' },
  ],
  text_to_speech: [
    { provider: 'elevenlabs', voice: 'rachel', model: null, api_key_secret: 'ELEVEN' },
    { provider: 'cartesia', voice: 'katie', model: 'sonic-3.5', api_key_secret: 'CARTESIA' },
    { provider: 'yandex_speechkit', voice: 'alena', api_key_secret: 'YANDEX' },
  ],
}
const names = ['ANTHROPIC', 'GOOGLE', 'DEEPGRAM', 'YANDEX', 'ELEVEN', 'CARTESIA']

async function planOf(owner: Tenant) {
  const call = { project_id: owner.projectId, phone: nextPhone() }
  const { id } = (await owner.call('POST', '/calls', call)).body
  const offered: PlaceCommand[] = []
  const bus = { ...control.deps.bus, place: async (one: PlaceCommand) => void offered.push(one) }
  await createDialer({ ...control.deps, bus }).offer(id)
  const { plan } = offered[0]!
  const secrets = plan.sealed ? PlanSecrets.parse(control.deps.sealer.open(plan.sealed, id)) : null
  return { plan, secrets, wire: JSON.stringify(offered) }
}

test('they are saved in their order, read back, and have documented defaults', async () => {
  const owner = await createTenant(control)
  const path = `/projects/${owner.projectId}`
  expect((await owner.call('GET', path)).body).toMatchObject({
    brain_fallback: [],
    speech_to_text: [],
    text_to_speech: [],
  })
  expect(await owner.call('PATCH', path, chosen)).toMatchObject({ status: 200, body: chosen })
  expect((await owner.call('GET', path)).body).toMatchObject(chosen)
  const realtime = { kind: 'openai_realtime', model: 'gpt-realtime', api_key_secret: 'OPENAI' }
  const spoken = await owner.call('PATCH', path, { brain: realtime })
  expect(spoken.body.brain).toEqual({ ...realtime, voice: null })
})

test.each([
  [{ brain: { kind: 'anthropic', model: 'm' } }, '/brain/api_key_secret'],
  [{ brain: { kind: 'google', model: 'm', api_key_secret: 'sk-live/abc' } }, '/brain/api_key_secret'],
  [{ brain_fallback: [{ kind: 'scripted' }] }, '/brain_fallback/0/kind'],
  [{ brain_fallback: [{ ...chosen.brain, kind: 'openai_realtime' }] }, '/brain_fallback/0/kind'],
  [{ brain_fallback: Array(4).fill(chosen.brain) }, '/brain_fallback'],
  [{ speech_to_text: [{ provider: 'whisper', api_key_secret: 'A' }] }, '/speech_to_text/0/provider'],
  [{ speech_to_text: Array(4).fill(chosen.speech_to_text[0]) }, '/speech_to_text'],
  [{ text_to_speech: [{ provider: 'elevenlabs', api_key_secret: 'A' }] }, '/text_to_speech/0/voice'],
  [{ text_to_speech: [{ ...chosen.text_to_speech[2], model: 'm' }] }, '/text_to_speech/0/model'],
  [{ text_to_speech: [{ ...chosen.text_to_speech[0], base_url: 'https://x.test' }] }, '/text_to_speech/0/base_url'],
])('%j is 400 at %s', async (part, pointer) => {
  const owner = await createTenant(control)
  const answer = await owner.call('PATCH', `/projects/${owner.projectId}`, part)
  expect(answer.status).toBe(400)
  expect(answer.body.errors.map((error: { pointer: string }) => error.pointer)).toContain(pointer)
})

test('a plan names them with their order, and their keys travel sealed', async () => {
  const owner = await createTenant(control)
  for (const name of [...names, 'OTHER']) await owner.call('POST', '/secrets', { name, value: `value of ${name}` })
  await owner.call('PATCH', `/projects/${owner.projectId}`, chosen)
  const { plan, secrets, wire } = await planOf(owner)
  expect(plan).toMatchObject({
    brain: { kind: 'anthropic', model: 'claude-haiku-4-5' },
    brain_fallback: [
      { brain: { kind: 'google', model: 'gemini-3-flash-preview' }, key: 'GOOGLE' },
      { brain: { kind: 'openai_compatible', base_url: 'https://llm.test/v1', model: 'm' }, key: null },
    ],
    stt: [
      { provider: 'deepgram', model: 'nova-3', key: 'DEEPGRAM' },
      { provider: 'yandex_speechkit', key: 'YANDEX' },
    ],
    tts: [
      { provider: 'elevenlabs', voice: 'rachel', model: null, key: 'ELEVEN' },
      { provider: 'cartesia', voice: 'katie', model: 'sonic-3.5', key: 'CARTESIA' },
      { provider: 'yandex_speechkit', voice: 'alena', key: 'YANDEX' },
    ],
  })
  expect(secrets).toEqual({
    tool_headers: {},
    brain_api_key: 'value of ANTHROPIC',
    vendor_keys: Object.fromEntries(names.slice(1).map(name => [name, `value of ${name}`])),
  })
  expect(wire).not.toContain('value of')
})

test('a secret that is not there is left out, as in the headers of tools, and the call goes on', async () => {
  const owner = await createTenant(control)
  await owner.call('POST', '/secrets', { name: 'ELEVEN', value: 'v' })
  expect((await owner.call('PATCH', `/projects/${owner.projectId}`, chosen)).status).toBe(200)
  const { plan, secrets } = await planOf(owner)
  expect(plan.tts).toHaveLength(3)
  expect(secrets).toEqual({ tool_headers: {}, brain_api_key: null, vendor_keys: { ELEVEN: 'v' } })
})

test('projects and plans from before there was a choice are read as they were', async () => {
  const owner = await createTenant(control)
  const { sql } = control.deps
  await sql`update projects set settings = settings - 'brain_fallback' - 'speech_to_text' - 'text_to_speech'
    where id = ${owner.projectId}`
  const read = await owner.call('GET', `/projects/${owner.projectId}`)
  expect(read).toMatchObject({ status: 200, body: { brain_fallback: [], speech_to_text: [], text_to_speech: [] } })
  expect((await planOf(owner)).plan).toMatchObject({ brain: { kind: 'scripted' }, stt: [], tts: [] })
  const { brain_fallback: _, stt: __, tts: ___, ...old } = somePlan()
  expect(CallPlan.parse(old)).toMatchObject({ brain_fallback: [], stt: [], tts: [] })
  expect(PlanSecrets.parse({ tool_headers: {}, brain_api_key: null }).vendor_keys).toEqual({})
})
