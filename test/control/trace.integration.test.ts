/** SIP traces of calls, and checks of trunks, as customers see them. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sweepOld } from '../../control/background/engine.ts'
import { finish } from '../../control/telephony/calls/finish.ts'
import { ladderOf } from '../../control/telephony/trace/ladder.ts'
import type { SipTrace, TracedMessage, TrunkCheckReport } from '../../media/contract/sip-trace.ts'
import { createControl, createTenant, nextPhone, type Tenant, type TestControl } from '../support/control.ts'
import { record, unanswered } from '../support/records.ts'

let control: TestControl
beforeAll(async () => {
  control = await createControl()
})
afterAll(() => control?.close())

const [ours, theirs] = ['192.0.2.1:5070', '198.51.100.9:5060']
const at = Date.UTC(2026, 2, 2, 9, 14, 5, 120)
const seen = (sent: boolean, ms: number, text: string, part: Partial<TracedMessage> = {}): TracedMessage => ({
  at: at + ms,
  sent,
  transport: 'udp',
  generated: false,
  text,
  ...(sent ? { source: ours, target: theirs } : { source: theirs, target: ours }),
  ...part,
})
const sdp =
  '\r\n\r\nv=0\r\nm=audio 4000 RTP/AVP 0 8 101\r\na=rtpmap:0 PCMU/8000\r\na=rtpmap:8 PCMA/8000\r\na=rtpmap:101 telephone-event/8000\r\n'
const sip: SipTrace = {
  messages: [
    seen(true, 0, `INVITE sip:+49301234@carrier.example SIP/2.0\r\nCSeq: 1 INVITE${sdp}`),
    seen(false, 12, 'SIP/2.0 401 Unauthorized\r\nCSeq: 1 INVITE\r\n\r\n'),
    seen(true, 15, `INVITE sip:+49301234@carrier.example SIP/2.0\r\nCSeq: 2 INVITE\r\nAuthorization: Digest x${sdp}`),
    seen(false, 32_015, 'SIP/2.0 408 Request Timeout\r\nCSeq: 2 INVITE\r\n\r\n', { generated: true, source: '?' }),
  ],
  omitted: 0,
  diagnosis: {
    code: 'no_response',
    message: 'Nobody answered us.',
    advice: 'Call them by other means.',
    evidence: [2, 3],
  },
}

async function call(owner: Tenant): Promise<string> {
  const { body } = await owner.call('POST', '/calls', { project_id: owner.projectId, phone: nextPhone() })
  return body.id
}

test('returns the trace of a SIP call to its owner only', async () => {
  const [owner, other] = [await createTenant(control), await createTenant(control)]
  const id = await call(owner)
  expect((await owner.call('GET', `/calls/${id}`)).body.sip_trace_url).toBeNull()
  await finish(control.deps, id, unanswered({ sip }))
  expect((await owner.call('GET', `/calls/${id}`)).body.sip_trace_url).toBe(
    `http://control.test/v1/public/calls/${id}/trace`,
  )
  const { status, body } = await owner.call('GET', `/calls/${id}/trace`)
  expect(status).toBe(200)
  expect(body).toMatchObject({ call_id: id, omitted: 0, diagnosis: sip.diagnosis })
  expect(body.messages[0]).toEqual({
    ...sip.messages[0],
    at: '2026-03-02T09:14:05.120Z',
    start_line: 'INVITE sip:+49301234@carrier.example SIP/2.0',
  })
  expect(await other.call('GET', `/calls/${id}/trace`)).toMatchObject({ status: 404, body: { code: 'not_found' } })
  const untraced = await call(owner)
  await finish(control.deps, untraced, record())
  expect(await owner.call('GET', `/calls/${untraced}/trace`)).toMatchObject({ body: { code: 'no_trace' } })
  expect(JSON.stringify(control.deps.log.lines)).not.toContain('+49301234')
})

test('returns a text ladder for Accept: text/plain', async () => {
  const owner = await createTenant(control)
  const id = await call(owner)
  await finish(control.deps, id, unanswered({ sip }))
  const asText = await owner.call('GET', `/calls/${id}/trace?format=text`)
  expect(asText.headers['content-type']).toBe('text/plain; charset=utf-8')
  expect(await owner.call('GET', `/calls/${id}/trace`, undefined, { accept: 'text/plain' })).toMatchObject({
    body: asText.body,
  })
  expect((await owner.call('GET', `/calls/${id}/trace`, undefined, { accept: '*/*' })).body.call_id).toBe(id)
  expect((await owner.call('GET', `/calls/${id}/trace?format=pcap`)).status).toBe(400)
  expect(`\n${asText.body.replace(id, '<id>').split('\n--- #')[0]}`).toMatchInlineSnapshot(`
    "
    SIP messages of call <id>

    Cause: Nobody answered us. (no_response)
    Fix: Call them by other means.
    Seen in: #2, #3 (marked *)

      #   2026-03-02 UTC      after   us                                                       them
                                      192.0.2.1:5070                         198.51.100.9:5060 (udp)
       0  09:14:05.120                |-------------- INVITE +49301234  [PCMU PCMA] -------------->|
       1  09:14:05.132        +12 ms  |<---------------- 401 Unauthorized (INVITE) ----------------|
    *  2  09:14:05.135         +3 ms  |------ INVITE +49301234, authenticated  [PCMU PCMA] ------->|
    *  3  09:14:37.135       +32.0 s  | x no response: 408 Request Timeout                         |
    "
  `)
  expect((await owner.call('GET', `/calls/${randomUUID()}/trace?format=text`)).body.code).toBe('not_found')
})

test('limits the ladder to 100 columns without control characters', () => {
  const text = `INVITE sip:${'1'.repeat(300)}@x SIP/2.0\r\nX: \u001b[2J\u009b31m\u202e`
  const drawn = ladderOf({
    title: 'x',
    messages: [seen(true, 0, text), seen(false, 9e6, text)],
    omitted: 7,
    diagnosis: sip.diagnosis,
  })
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there
  expect(drawn).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202e]/)
  const rungs = drawn.split('\n--- #')[0]!.split('\n')
  expect(Math.max(...rungs.map(line => line.length))).toBeLessThanOrEqual(100)
})

test('keeps a trace for thirty days', async () => {
  const owner = await createTenant(control)
  const id = await call(owner)
  await finish(control.deps, id, unanswered({ sip }))
  const kept = () => control.deps.sql`select 1 from call_traces where owner_id = ${owner.ownerId}`
  await sweepOld(control.deps)
  expect(await kept()).toHaveLength(1)
  await control.deps.sql`update call_traces set created_at = created_at - interval '31 days' where call_id = ${id}`
  await sweepOld(control.deps)
  expect(await kept()).toHaveLength(0)
})

const report: TrunkCheckReport = {
  ...sip,
  ok: false,
  checks: [{ name: 'options', host: theirs, ok: false, message: 'Nobody answered us.', ms: 4000 }],
}

test('checks the current trunk on an engine', async () => {
  const owner = await createTenant(control)
  const check = () => owner.call('POST', `/trunks/${owner.trunkId}/check`)
  expect(await check()).toMatchObject({
    status: 503,
    body: { code: 'service_unavailable' },
    headers: { 'retry-after': '5' },
  })

  const engine = control.engine(`examiner-${randomUUID()}`)
  const asked: string[] = []
  engine.onTrunkCheck(async trunk => {
    asked.push(`${trunk.id} ${trunk.password} ${trunk.host}`)
    return report
  })
  const reader = engine.onCommand(() => {})
  await engine.heartbeat({ calls: 0, capacity: 5, stt_ready: true, rooms: false })
  await owner.call('PATCH', `/trunks/${owner.trunkId}`, { host: 'moved.example', username: 'u', password: 'p4ss' })
  const { status, body } = await check()
  expect(status).toBe(200)
  expect(asked).toEqual([`${owner.trunkId} p4ss moved.example`])
  expect(body).toMatchObject({ trunk_id: owner.trunkId, ok: false, checks: report.checks, diagnosis: sip.diagnosis })
  expect(body.ladder).toContain('Cause: Nobody answered us. (no_response)')
  expect(body.messages).toHaveLength(4)
  const other = await createTenant(control)
  expect((await other.call('POST', `/trunks/${owner.trunkId}/check`)).status).toBe(404)
  await reader.stop()
  const { redis, config } = control.deps
  const commands = await redis.xrange(`${config.redis_prefix}:commands:${engine.engine}`, '-', '+')
  expect(JSON.stringify(commands)).toContain('trunk.check')
  expect(JSON.stringify(commands)).not.toMatch(/p4ss|moved\.example/)
})
