/**
 * SIP traces and metrics of real calls through the whole platform, and a check of a real trunk: sipp and Kamailio are
 * the carriers.
 */
import { join } from 'node:path'
import { afterAll, beforeAll, expect } from 'vitest'
import { freeUdpPort, Kamailio, REALM } from '../sip/trunk/kamailio.ts'
import { examine } from '../support/doctor.ts'
import { needs } from '../support/needs.ts'
import { type Stack, startStack } from '../support/stack.ts'
import { freeSipPort, play, refusing, startSipp, taken } from '../support/stack-sipp.ts'
import { silence } from '../support/stack-speech.ts'
import { pcap } from '../support/stack-wire.ts'
import { until } from '../support/world.ts'

const { it } = needs('sipp')
const { it: test } = needs('kamailio')

let stack: Stack
beforeAll(async () => {
  stack = await startStack({ METRICS_PORT: '0' })
})
afterAll(() => stack?.stop())

it('explains a call that sipp rejected, with its messages', { timeout: 180_000 }, async () => {
  const sipp = await startSipp(stack, refusing('488 Not Acceptable Here'))
  const customer = await stack.owner({ trunk: { port: sipp.port } })
  const call = await customer.place('+14155550155')
  await call.ended()
  await sipp.done
  await until(async () => (await customer.rest('GET', `/calls/${call.id}`)).body.sip_trace_url, 'the trace')
  const { body } = await customer.rest('GET', `/calls/${call.id}/trace`)
  expect(body.messages.map((message: { start_line: string }) => message.start_line.split(' ')[0])).toEqual([
    ...['INVITE', 'SIP/2.0'],
  ])
  expect(body.messages[1]).toMatchObject({ sent: false, source: `127.0.0.1:${sipp.port}`, transport: 'udp' })
  expect(body.diagnosis).toMatchObject({ code: 'codec_refused', evidence: [0, 1] })
})

test('reports a correct password as accepted and a wrong one as rejected', { timeout: 180_000 }, async () => {
  const port = await freeUdpPort()
  const kamailio = await Kamailio.start(port, { peerPort: await freeSipPort(), algorithm: 'MD5', password: 'right' })
  try {
    for (const [password, ok, code] of [
      ['right', true, undefined],
      ['wrong', false, 'wrong_password'],
    ] as const) {
      const trunk = { port, mode: 'register' as const, username: 'alice', password, realm: REALM }
      const customer = await stack.owner({ trunk })
      const { items } = (await customer.rest('GET', '/trunks')).body
      const { status, body } = await customer.rest('POST', `/trunks/${items[0].id}/check`)
      const seen = JSON.stringify({ checks: body.checks, messages: body.messages }, null, 1)
      expect([status, body.ok, body.diagnosis?.code], seen).toEqual([200, ok, code])
      expect(body.checks.map((check: { name: string }) => check.name)).toEqual(
        expect.arrayContaining(['options', 'register']),
      )
    }
  } finally {
    await kamailio.close()
  }
})

/** Metrics pages of all processes of a kind, concatenated. */
const page = async (name: 'controls' | 'engines') => {
  const shown = stack[name].map(async ({ child }) => {
    const { metrics } = JSON.parse(child.readyLine) as { metrics: number }
    const answer = await fetch(`http://127.0.0.1:${metrics}/metrics`)
    expect(answer.status).toBe(200)
    return answer.text()
  })
  return (await Promise.all(shown)).join('\n')
}
/** Sum of a series over all processes, as in Prometheus. */
const valueIn = (text: string, series: string) => {
  const lines = text.split('\n').filter(line => line.startsWith(`${series} `))
  return lines.length === 0 ? Number.NaN : lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
}

it('counts calls and requests without phone numbers', {
  timeout: 30_000,
}, async () => {
  const sipp = await startSipp(stack, refusing('486 Busy Here'))
  const customer = await stack.owner({ trunk: { port: sipp.port } })
  const call = await customer.place('+14155550155')
  await call.ended()
  await sipp.done
  expect((await customer.rest('GET', '/calls/nonsense')).status).toBe(404)
  const [control, engine] = [await page('controls'), await page('engines')]
  expect(valueIn(engine, 'parley_signalling_up')).toBe(stack.engines.length)
  expect(valueIn(engine, 'parley_calls_capacity')).toBeGreaterThan(0)
  await until(async () => valueIn(await page('engines'), 'parley_calls') === 0, 'the call to be over')
  expect(valueIn(control, 'parley_http_request_seconds_count{status="2xx"}')).toBeGreaterThan(0)
  expect(valueIn(control, 'parley_http_problems_total{code="not_found"}')).toBe(1)
  expect(valueIn(control, 'parley_admissions_total{result="admitted"}')).toBe(0)
  for (const text of [control, engine]) expect(text).not.toMatch(/\+?1?4155550155|\d+\.\d+\.\d+\.\d+/)
})

it("passes the doctor during a call, and shows the call's metrics afterwards", {
  timeout: 120_000,
}, async () => {
  const question = await stack.speech.say('Please tell the director that the old lighthouse has been repaired.')
  const file = pcap(join(stack.folder, 'question'), [
    { pcm: silence(3000) },
    { pcm: question },
    { pcm: silence(20_000) },
  ])
  const sipp = await startSipp(stack, taken([play(file)]), { seconds: 60 })
  const customer = await stack.owner({ trunk: { port: sipp.port }, project: { greeting: 'Hello.' } })
  const before = valueIn(await page('controls'), 'parley_calls_ended_total{status="completed"}')
  const call = await customer.place('+14155550156')
  await call.agentSaid(2)
  const findings = await examine({ ...stack.env })
  expect(findings.filter(({ status }) => status === 'error')).toEqual([])
  expect(findings).toContainEqual(
    expect.objectContaining({ part: 'Engines', status: 'ok', text: expect.stringContaining('with 1 call of') }),
  )
  await customer.rest('POST', `/calls/${call.id}/hangup`)
  await call.ended()
  await sipp.done
  const control = await until(async () => {
    const text = await page('controls')
    return valueIn(text, 'parley_calls_ended_total{status="completed"}') > before ? text : null
  }, 'the call to be counted')
  const mean = (name: string, labels = '') =>
    valueIn(control, `${name}_sum${labels}`) / valueIn(control, `${name}_count${labels}`)
  expect(valueIn(control, 'parley_calls_dialed_total')).toBeGreaterThan(0)
  expect(mean('parley_voice_to_voice_seconds', '{first="answer"}')).toBeLessThan(10)
  expect(mean('parley_call_loss_ratio')).toBeLessThan(0.05)
  expect(mean('parley_call_mos')).toBeGreaterThan(3.6)
  expect(control).not.toMatch(/4155550156/)
})
