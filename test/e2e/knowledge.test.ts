/**
 * A customer adds a knowledge source over REST; a caller asks over SIP and hears the answer. The record names the
 * source.
 */
import { afterAll, beforeAll, expect } from 'vitest'
import { needs } from '../support/needs.ts'
import { type Stack, startStack } from '../support/stack.ts'
import { startBaresip } from '../support/stack-baresip.ts'
import { expectCost, expectHeard, expectSettled } from '../support/stack-checks.ts'
import { soundOf, type Tap, tapRtp } from '../support/stack-wire.ts'
import { until } from '../support/world.ts'

const { it } = needs('baresip', 'tcpdump')

const HOUSE = `# Breakfast

Breakfast is served from eight to eleven in the garden room.

# Parking

There are twelve parking places behind the house, and they are free for guests.

# Pets

Small dogs are welcome in all rooms of the first floor.
`

let stack: Stack
let tap: Tap
beforeAll(async () => {
  stack = await startStack()
  tap = await tapRtp(stack)
})
afterAll(() => stack?.stop())

it('what was uploaded is what the caller hears, and the transcript names the source', {
  timeout: 180_000,
}, async () => {
  const phone = await startBaresip(stack, '+14155550191')
  const owner = await stack.owner({ trunk: { port: phone.port }, project: { greeting: 'Hotel by the sea, hello.' } })
  const path = `/projects/${owner.projectId}/knowledge`
  const added = await owner.rest('POST', path, { type: 'text', title: 'House guide', content: HOUSE })
  expect(added.status).toBe(201)
  // A machine that is busy answers 503 meanwhile.
  const stateOf = async () => (await owner.rest('GET', path)).body.items?.[0]
  await until(async () => (await stateOf())?.status === 'ready', 'the text to be indexed', 30_000)

  const sound = await stack.speech.say('How many parking places do you have?')
  await phone.command('dial', `sip:${owner.number}@${stack.sip.host}:${stack.sip.port}`)
  await phone.wait('CALL_ESTABLISHED')
  const { id } = (await until(() => owner.newest('in'), 'the call'))!
  const call = await owner.follow(id)
  await call.agentSaid(1)
  await phone.speak(sound)
  const { tool } = await call.wait('tool.finished')
  await call.agentSaid(2)
  await phone.command('hangup')
  await call.ended()

  expect(tool).toMatchObject({ name: 'search_knowledge', status: 'ok' })
  const detail = await owner.detail(id)
  const told = detail.transcript.filter(({ role }) => role === 'agent').map(({ heard_text }) => heard_text)
  expect(told[1]).toContain('There are twelve parking places behind the house')
  const [used] = detail.tool_calls
  expect(used!.knowledge![0]).toEqual({
    chunk_id: expect.any(String),
    source_id: added.body.id,
    source: 'House guide',
  })
  const found = await owner.rest('POST', `${path}/search`, { query: used!.arguments['query'], limit: 1 })
  expect(found.body.items[0].chunk_id).toBe(used!.knowledge![0]!.chunk_id)
  const turn = detail.transcript.find(({ role }) => role === 'tool')!
  expect(turn).toMatchObject({ text: 'search_knowledge: ok (House guide)', knowledge: used!.knowledge })
  // Not only written down: it went over the wire.
  expect(await expectHeard(stack.speech, soundOf(tap.packets({ to: phone.isMedia })), detail)).toMatch(
    /parking places/i,
  )
  expectCost(detail)
  await expectSettled(stack, owner)
})
