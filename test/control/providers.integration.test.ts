/** Providers that a project chooses: the saved settings, the call plan, and the use of their keys. */
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
  llm: { provider: 'anthropic', model: 'claude-haiku-4-5', api_key_secret: 'ANTHROPIC' },
  llm_fallback: [
    { provider: 'google', model: 'gemini-3-flash-preview', api_key_secret: 'GOOGLE' },
    { provider: 'openai_compatible', base_url: 'https://llm.test/v1', model: 'm', api_key_secret: null },
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

test('stores and returns providers in order, with documented defaults', async () => {
  const owner = await createTenant(control)
  const path = `/projects/${owner.projectId}`
  expect((await owner.call('GET', path)).body).toMatchObject({
    llm_fallback: [],
    speech_to_text: [],
    text_to_speech: [],
  })
  expect(await owner.call('PATCH', path, chosen)).toMatchObject({ status: 200, body: chosen })
  expect((await owner.call('GET', path)).body).toMatchObject(chosen)
  const realtime = { provider: 'openai_realtime', model: 'gpt-realtime', api_key_secret: 'OPENAI' }
  const spoken = await owner.call('PATCH', path, { llm: realtime })
  expect(spoken.body.llm).toEqual({ ...realtime, voice: null })
})

test.each([
  [{ llm: { provider: 'anthropic', model: 'm' } }, '/llm/api_key_secret'],
  [{ llm: { provider: 'google', model: 'm', api_key_secret: 'sk-live/abc' } }, '/llm/api_key_secret'],
  [{ llm_fallback: [{ provider: 'scripted' }] }, '/llm_fallback/0/provider'],
  [{ llm_fallback: [{ ...chosen.llm, provider: 'openai_realtime' }] }, '/llm_fallback/0/provider'],
  [{ llm_fallback: Array(4).fill(chosen.llm) }, '/llm_fallback'],
  [{ speech_to_text: [{ provider: 'whisper', api_key_secret: 'A' }] }, '/speech_to_text/0/provider'],
  [{ speech_to_text: Array(4).fill(chosen.speech_to_text[0]) }, '/speech_to_text'],
  [{ text_to_speech: [{ provider: 'elevenlabs', api_key_secret: 'A' }] }, '/text_to_speech/0/voice'],
  [{ text_to_speech: [{ ...chosen.text_to_speech[2], model: 'm' }] }, '/text_to_speech/0/model'],
  [{ text_to_speech: [{ ...chosen.text_to_speech[0], base_url: 'https://x.test' }] }, '/text_to_speech/0/base_url'],
])('returns 400 for %j at %s', async (part, pointer) => {
  const owner = await createTenant(control)
  const answer = await owner.call('PATCH', `/projects/${owner.projectId}`, part)
  expect(answer.status).toBe(400)
  expect(answer.body.errors.map((error: { pointer: string }) => error.pointer)).toContain(pointer)
})

test('sends providers in order, with sealed keys', async () => {
  const owner = await createTenant(control)
  for (const name of [...names, 'OTHER']) await owner.call('POST', '/secrets', { name, value: `value of ${name}` })
  await owner.call('PATCH', `/projects/${owner.projectId}`, chosen)
  const { plan, secrets, wire } = await planOf(owner)
  expect(plan).toMatchObject({
    llm: { provider: 'anthropic', model: 'claude-haiku-4-5' },
    llm_fallback: [
      { llm: { provider: 'google', model: 'gemini-3-flash-preview' }, key: 'GOOGLE' },
      { llm: { provider: 'openai_compatible', base_url: 'https://llm.test/v1', model: 'm' }, key: null },
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
    llm_api_key: 'value of ANTHROPIC',
    vendor_keys: Object.fromEntries(names.slice(1).map(name => [name, `value of ${name}`])),
  })
  expect(wire).not.toContain('value of')
})

test('omits a missing secret and continues the call', async () => {
  const owner = await createTenant(control)
  await owner.call('POST', '/secrets', { name: 'ELEVEN', value: 'v' })
  expect((await owner.call('PATCH', `/projects/${owner.projectId}`, chosen)).status).toBe(200)
  const { plan, secrets } = await planOf(owner)
  expect(plan.tts).toHaveLength(3)
  expect(secrets).toEqual({ tool_headers: {}, llm_api_key: null, vendor_keys: { ELEVEN: 'v' } })
})

test('reads projects and plans that have no providers', async () => {
  const owner = await createTenant(control)
  const { sql } = control.deps
  await sql`update projects set settings = settings - 'llm_fallback' - 'speech_to_text' - 'text_to_speech'
    where id = ${owner.projectId}`
  const read = await owner.call('GET', `/projects/${owner.projectId}`)
  expect(read).toMatchObject({ status: 200, body: { llm_fallback: [], speech_to_text: [], text_to_speech: [] } })
  expect((await planOf(owner)).plan).toMatchObject({ llm: { provider: 'scripted' }, stt: [], tts: [] })
  const { llm_fallback: _, stt: __, tts: ___, ...old } = somePlan()
  expect(CallPlan.parse(old)).toMatchObject({ llm_fallback: [], stt: [], tts: [] })
  expect(PlanSecrets.parse({ tool_headers: {}, llm_api_key: null }).vendor_keys).toEqual({})
})
