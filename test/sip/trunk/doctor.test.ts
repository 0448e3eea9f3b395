/** A scripted faulty trunk for each cause: the doctor's finding for a call over it, and for its check. */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { EndedReason, MediaStats } from '../../../media/contract/messages.ts'
import type { CallPlan, TrunkPlan } from '../../../media/contract/plan.ts'
import type { SipTrace } from '../../../media/contract/sip-trace.ts'
import { selfSigned } from '../../../sip/server/self-signed.ts'
import type { SipRequest } from '../../../sip/text/message.ts'
import { Caller, type Peer, reply, SDP } from '../peer.ts'
import { Bench, Ear, FarMedia, hostsOnly, trunkPlan } from './bench.ts'
import { seqOf } from './digest-server.ts'

let bench: Bench
let peer: Peer
const closers: (() => unknown)[] = []
beforeEach(async () => {
  const listen = (['udp', 'tcp', 'tls'] as const).map(protocol => ({ protocol, host: '127.0.0.1', port: 0 }))
  const resolver = hostsOnly({ localhost: ['127.0.0.1'] })
  bench = await Bench.start({ timers: { t1: 20, t2: 80, t4: 100 }, listen, tls: selfSigned(Date.now()) }, { resolver })
  peer = await bench.rig.udpPeer()
})
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
  await bench.close()
})

const account = { username: 'user', password: 'pass' } as const
const contact = (host = '127.0.0.1') => `Contact: <sip:far@${host}:${peer.port}>`
const asked = (words: string) => [`WWW-Authenticate: Digest ${words}`]
const sdpType = 'Content-Type: application/sdp'

const stats = (part: Partial<MediaStats> = {}): MediaStats => ({
  codec: 'PCMU',
  packets_sent: 500,
  packets_received: 500,
  packets_lost: 0,
  packets_late: 0,
  packets_rejected: 0,
  jitter_ms: 0,
  ...part,
})

function traceOf(callId: string, reason: EndedReason, media: MediaStats | null = null): SipTrace {
  const trace = bench.edge.traces.take({ callId, media, reason })
  if (trace === null) throw new Error('no trace')
  return trace
}

/** Every answer of the far end in turn; the call fails. */
async function refused(
  over: Partial<TrunkPlan>,
  plan: Partial<CallPlan>,
  ...answers: ((invite: SipRequest) => void)[]
): Promise<SipTrace> {
  const planned = { call_id: randomUUID(), ...plan }
  const { result } = bench.dial(peer, over, planned)
  let seen = 0
  for (const answer of answers) {
    let invite = await peer.request('INVITE')
    // T1 is short here: on a busy machine the same may come twice.
    while (seqOf(invite) === seen) invite = await peer.request('INVITE')
    seen = seqOf(invite)
    answer(invite)
  }
  const outcome = await result
  if (outcome.ok) throw new Error('answered')
  return traceOf(planned.call_id, outcome.failure.reason)
}

const says =
  (status: string, extra: readonly string[] = [], body = '') =>
  (invite: SipRequest) =>
    reply(peer, invite, status, extra, body)

describe('a call that is refused', () => {
  it.each<[string, string, Partial<TrunkPlan>, ((invite: SipRequest) => void)[]]>([
    [
      'wrong_password',
      'user “user” (realm “r”)',
      account,
      ['a', 'b'].map(n => says('401 No', asked(`realm="r", nonce="${n}"`))),
    ],
    ['wrong_realm', '“theirs”', { ...account, realm: 'mine' }, [says('401 No', asked('realm="theirs", nonce="n"'))]],
    ['credentials_missing', 'the trunk has none', {}, [says('401 No', asked('realm="r", nonce="n"'))]],
    [
      'auth_unsupported',
      'do not support',
      account,
      [says('401 No', asked('realm="r", nonce="n", algorithm=AKAv1-MD5'))],
    ],
    [
      'register_loop',
      '3 times in a row',
      account,
      ['a', 'b', 'c'].map(n => says('401 No', asked(`realm="r", nonce="${n}", stale=true`))),
    ],
    [
      'clock_skew',
      '3 hours behind ours',
      account,
      ['a', 'b', 'c'].map(n =>
        says('401 No', [
          ...asked(`realm="r", nonce="${n}", stale=true`),
          `Date: ${new Date(Date.now() - 3 * 3600_000).toUTCString()}`,
        ]),
      ),
    ],
    [
      'codec_refused',
      'PCMU, PCMA',
      {},
      [says('488 Not Acceptable Here', ['Warning: 305 x "Incompatible media format"'])],
    ],
    [
      'codec_refused',
      'It accepts G729',
      {},
      [says('488 No', [sdpType], SDP.replace('AVP 0', 'AVP 18').replace('0 PCMU', '18 G729'))],
    ],
    ['srtp_required', 'only encrypted', {}, [says('488 No', ['Warning: 399 x "SRTP required"'])]],
    ['srtp_required', 'only encrypted', {}, [says('488 No', [sdpType], SDP.replace('RTP/AVP', 'RTP/SAVP'))]],
    ['caller_id_refused', '“+12025550111”', {}, [says('403 Caller ID not allowed')]],
    ['caller_id_refused', '“+12025550111”', { numbers: ['+12025550100'] }, [says('403 Forbidden')]],
    ['forbidden', 'does not allow this call', { numbers: ['+12025550111'] }, [says('403 Forbidden')]],
    ['number_format', '“+12025550199”', {}, [says('484 Address Incomplete')]],
    ['number_format', '“+12025550199”', {}, [says('404 Not Found')]],
    ['number_unknown', '“12025550199”', { number_format: 'digits' }, [says('404 Not Found')]],
    ['call_limit', 'All lines', {}, [says('486 Concurrent call limit reached')]],
    ['call_limit', 'All lines', {}, [says('503 No', ['Reason: Q.850;cause=34;text="No circuit"'])]],
    ['carrier_overloaded', 'after 30 seconds', {}, [says('503 Service Unavailable', ['Retry-After: 30'])]],
    ['session_timer', 'at least 3600', {}, [says('422 Too Small', ['Min-SE: 3600'])]],
    ['payment_required', 'payment first', {}, [says('402 Payment Required')]],
    ['carrier_refused', '“500 Oops”', {}, [says('500 Oops')]],
    ['busy', 'busy', {}, [says('486 Busy Here')]],
    ['declined', 'declined', {}, [says('603 Decline')]],
    ['no_answer', 'switched off', {}, [says('480 Temporarily Unavailable')]],
  ])('is diagnosed as %s: %s', async (code, words, over, answers) => {
    const { diagnosis, messages } = await refused(over, { from: '+12025550111' }, ...answers)
    expect(diagnosis?.message).toContain(words)
    expect(diagnosis?.code).toBe(code)
    const shown = diagnosis!.evidence.map(index => messages[index]!)
    expect(shown.length).toBeGreaterThan(0)
    expect(shown.at(-1)).toMatchObject({ sent: false, generated: false, source: `127.0.0.1:${peer.port}` })
  })

  it('is diagnosed as transport_refused', async () => {
    const free = createServer().listen(0, '127.0.0.1')
    await once(free, 'listening')
    const { port } = free.address() as { port: number }
    free.close()
    const plan = { call_id: randomUUID() }
    const outcome = await bench.dial({ port } as Peer, { transport: 'tcp' }, plan).result
    expect(outcome.ok).toBe(false)
    const { diagnosis, messages } = traceOf(plan.call_id, 'trunk_unreachable')
    expect(diagnosis).toMatchObject({ code: 'transport_refused', message: `127.0.0.1:${port} refused the connection.` })
    expect(messages.map(({ sent, generated }) => [sent, generated])).toEqual([
      [true, false],
      [false, true],
    ])
  })

  it('is diagnosed as tls_name_mismatch', async () => {
    const server = createTlsServer(selfSigned(Date.now())).listen(0, '127.0.0.2')
    await once(server, 'listening')
    closers.push(() => server.close())
    const { port } = server.address() as { port: number }
    const plan = { call_id: randomUUID() }
    await bench.dial({ port } as Peer, { transport: 'tls', host: '127.0.0.2' }, plan).result
    // Our certificate is untrusted, so the server may fail at it first.
    expect(traceOf(plan.call_id, 'trunk_unreachable').diagnosis?.code).toMatch(/^tls_(?:name_mismatch|untrusted)$/)
  })

  it('is diagnosed as no_response', async () => {
    const plan = { call_id: randomUUID(), ring_timeout_ms: 300 }
    const { result } = bench.dial(peer, {}, plan)
    await peer.request('INVITE')
    await result
    const { diagnosis } = traceOf(plan.call_id, 'trunk_unreachable')
    expect(diagnosis).toMatchObject({
      code: 'no_response',
      message: `127.0.0.1:${peer.port} never answered our INVITE.`,
    })
  })
})

describe('a call that is answered', () => {
  async function answered(host: string, description: string, media: Partial<MediaStats>, reason: EndedReason) {
    const plan = { call_id: randomUUID() }
    const { result } = bench.dial(peer, {}, plan)
    reply(peer, await peer.request('INVITE'), '200 OK', [contact(host), sdpType], description)
    const outcome = await result
    await peer.request('ACK')
    if (outcome.ok) {
      const over = outcome.leg.hangup('agent_hangup')
      reply(peer, await peer.request('BYE'), '200 OK')
      await over
    }
    return traceOf(plan.call_id, reason, stats(media))
  }

  it('is diagnosed as one_way_audio when nothing is received', async () => {
    const { diagnosis } = await answered('127.0.0.1', SDP, { packets_received: 0 }, 'media_timeout')
    expect(diagnosis).toMatchObject({ code: 'one_way_audio', message: expect.stringContaining('500 audio packets') })
  })

  it('is diagnosed as nat_address when the SDP has a private address', async () => {
    const { diagnosis } = await answered(
      '127.0.0.1',
      SDP.replaceAll('127.0.0.1', '10.9.8.7'),
      { packets_received: 0 },
      'media_timeout',
    )
    expect(diagnosis).toMatchObject({ code: 'nat_address', message: expect.stringContaining('10.9.8.7') })
  })

  it('is diagnosed as codec_refused when the answer has another codec', async () => {
    const plan = { call_id: randomUUID() }
    const { result } = bench.dial(peer, { codecs: ['PCMA'] }, plan)
    reply(peer, await peer.request('INVITE'), '200 OK', [contact(), sdpType], SDP)
    expect(await result).toMatchObject({ failure: { reason: 'no_common_codec' } })
    const { diagnosis } = traceOf(plan.call_id, 'no_common_codec')
    expect(diagnosis).toMatchObject({ code: 'codec_refused', message: expect.stringMatching(/PCMU.*PCMA/) })
  })

  it('without a fault has no diagnosis and a complete trace', async () => {
    const far = await FarMedia.open()
    closers.push(() => far.close())
    const { diagnosis, messages, omitted } = await answered('127.0.0.1', far.sdp(), {}, 'agent_hangup')
    expect(diagnosis).toBeNull()
    expect(omitted).toBe(0)
    expect(messages.map(({ text }) => text.split(/ (?=sip:|SIP)|\r\n/)[0]!.replace('SIP/2.0 ', ''))).toEqual([
      ...['INVITE', '200 OK', 'ACK', 'BYE', '200 OK'],
    ])
    const [ours, theirs] = [`127.0.0.1:${bench.rig.udpPort}`, `127.0.0.1:${peer.port}`]
    for (const { sent, source, target, transport } of messages) {
      expect([source, target, transport]).toEqual(sent ? [ours, theirs, 'udp'] : [theirs, ours, 'udp'])
    }
  })

  it('on hold may be silent', async () => {
    const { diagnosis } = await answered('127.0.0.1', `${SDP}a=inactive\r\n`, { packets_received: 0 }, 'agent_hangup')
    expect(diagnosis).toBeNull()
  })
})

describe('a call that comes in', () => {
  it('without ACK is diagnosed as no_ack', async () => {
    const trunk = trunkPlan(peer)
    bench.setTrunks(trunk)
    const caller = new Caller(peer, 'sip:+12025550100@127.0.0.1')
    caller.invite()
    const offer = await bench.offer()
    const callId = randomUUID()
    offer.admitted?.(callId)
    const leg = await offer.answer()
    leg?.attach(new Ear())
    await caller.answered()
    expect(await leg?.ended).toMatchObject({ reason: 'connection_lost' })
    const { diagnosis, messages } = traceOf(callId, 'connection_lost', stats())
    expect(diagnosis).toMatchObject({ code: 'no_ack' })
    expect(messages[diagnosis!.evidence[1]!]).toMatchObject({ sent: true, text: expect.stringMatching(/^BYE /) })
  })

  it('canceled by the caller is diagnosed', async () => {
    bench.setTrunks(trunkPlan(peer))
    const caller = new Caller(peer, 'sip:+12025550100@127.0.0.1')
    caller.invite()
    const offer = await bench.offer()
    const callId = randomUUID()
    offer.admitted?.(callId)
    caller.cancel()
    await once(offer.signal, 'abort')
    expect(traceOf(callId, 'caller_canceled').diagnosis).toMatchObject({ code: 'canceled' })
  })
})

describe('a check', () => {
  const registering = { ...account, mode: 'register' } as const
  /** Answers all that comes, by its method. */
  function serve(answers: Partial<Record<'OPTIONS' | 'REGISTER', (request: SipRequest, n: number) => void>>): void {
    const counts = { OPTIONS: 0, REGISTER: 0 }
    void (async () => {
      for (;;) {
        const request = await peer.next((message): message is SipRequest => message.kind === 'request')
        const method = request.method as 'OPTIONS' | 'REGISTER'
        answers[method]?.(request, counts[method]++)
      }
    })()
  }
  const fine = (request: SipRequest) => reply(peer, request, '200 OK')
  const challenged =
    (then: (request: SipRequest) => void, more = '') =>
    (request: SipRequest, n: number) =>
      /^Digest/.test(request.headers.find(([name]) => name === 'Authorization')?.[1] ?? '')
        ? then(request)
        : reply(peer, request, '401 No', asked(`realm="r", nonce="n${n}"${more}`))
  const summary = (report: { checks: readonly { name: string; ok: boolean }[] }) =>
    report.checks.map(({ name, ok }) => `${name} ${ok}`)

  it('passes a working trunk without registering', async () => {
    const contacts: (string | undefined)[] = []
    serve({
      OPTIONS: fine,
      REGISTER: challenged(request => {
        contacts.push(request.headers.find(([name]) => name === 'Contact')?.[1])
        reply(peer, request, '200 OK', [
          `Contact: <sip:user@127.0.0.1>;expires=60`,
          `Date: ${new Date().toUTCString()}`,
        ])
      }),
    })
    const report = await bench.edge.check(trunkPlan(peer, registering))
    expect(report).toMatchObject({ ok: true, diagnosis: null, omitted: 0 })
    expect(summary(report)).toEqual(['options true', 'register true', 'clock true'])
    expect(new Set(contacts)).toEqual(new Set([undefined]))
    expect(report.messages).toHaveLength(6)
    expect(JSON.stringify(report)).not.toMatch(/nonce=\\"n\d|response=\\"[0-9a-f]/)
  })

  it.each<[string, (request: SipRequest, n: number) => void]>([
    ['wrong_password', challenged(request => reply(peer, request, '401 No', asked('realm="r", nonce="again"')))],
    ['wrong_password', challenged(request => reply(peer, request, '403 Forbidden'))],
    ['user_unknown', request => reply(peer, request, '404 Not Found')],
    ['register_loop', (request, n) => reply(peer, request, '401 No', asked(`realm="r", nonce="${n}", stale=true`))],
    ['register_loop', challenged(request => reply(peer, request, '423 Too Brief', ['Min-Expires: 90000']))],
    ['forbidden', request => reply(peer, request, '403 Forbidden')],
  ])('names %s', async (code, answer) => {
    serve({ OPTIONS: fine, REGISTER: answer })
    const report = await bench.edge.check(trunkPlan(peer, registering))
    expect(report).toMatchObject({ ok: false, diagnosis: { code } })
    expect(summary(report)).toEqual(['options true', 'register false'])
  })

  it('reports a registrar that rejects every interval', async () => {
    const trunk = trunkPlan(peer, registering)
    serve({
      OPTIONS: fine,
      REGISTER: request =>
        request.headers.some(([name]) => name === 'Contact')
          ? reply(peer, request, '423 Too Brief', ['Min-Expires: 900000'])
          : fine(request),
    })
    bench.setTrunks(trunk)
    await bench.until(() => bench.statuses.at(-1)?.registration === 'failed')
    const report = await bench.edge.check(trunk)
    expect(report).toMatchObject({ ok: false, diagnosis: { code: 'register_loop' } })
    expect(report.diagnosis?.message).toContain('900000')
  })

  it('ignores a registration in progress', async () => {
    const trunk = trunkPlan(peer, registering)
    const waits = Promise.withResolvers<void>()
    const isProven = (request: SipRequest) => request.headers.some(([name]) => name === 'Authorization')
    serve({
      OPTIONS: fine,
      REGISTER: (request, n) => {
        const isOwn = request.headers.some(([name]) => name === 'Contact')
        if (isOwn && isProven(request)) waits.resolve()
        else challenged(it => reply(peer, it, '403 Forbidden'))(request, n)
      },
    })
    bench.setTrunks(trunk)
    await waits.promise
    const report = await bench.edge.check(trunk)
    expect(report).toMatchObject({ ok: false, diagnosis: { code: 'wrong_password' } })
    expect(report.messages.filter(({ text }) => /^Contact:/m.test(text) && text.startsWith('REGISTER'))).toEqual([])
  })

  it('reports a wrong clock', async () => {
    serve({
      OPTIONS: request =>
        reply(peer, request, '200 OK', [`Date: ${new Date(Date.now() + 5 * 3600_000).toUTCString()}`]),
    })
    const report = await bench.edge.check(trunkPlan(peer))
    expect(report).toMatchObject({
      ok: false,
      diagnosis: { code: 'clock_skew', message: expect.stringContaining('5 hours ahead') },
    })
  })

  it('accepts hosts that answer REGISTER but not OPTIONS', async () => {
    serve({ REGISTER: challenged(fine) })
    const report = await bench.edge.check(trunkPlan(peer, registering))
    expect(report).toMatchObject({ ok: true, diagnosis: null })
  })

  it('reports the public address that the carrier sees', async () => {
    serve({
      OPTIONS: request => {
        const headers = request.headers.map(
          ([name, value]) => [name, name === 'Via' ? `${value};received=203.0.113.7` : value] as const,
        )
        reply(peer, { ...request, headers }, '200 OK')
      },
    })
    const report = await bench.edge.check(trunkPlan(peer))
    expect(report.checks.at(-1)).toMatchObject({
      name: 'address',
      ok: true,
      message: expect.stringContaining('203.0.113.7'),
    })
    expect(report.diagnosis).toBeNull()
  })

  it('reports an unknown host and a closed port', async () => {
    const unknown = await bench.edge.check(trunkPlan(peer, { host: 'nowhere.invalid' }))
    expect(unknown).toMatchObject({ ok: false, diagnosis: { code: 'dns_failed' }, messages: [] })
    const closed = await bench.edge.check(trunkPlan({ port: 1 }, { transport: 'tcp' }))
    expect(closed).toMatchObject({ ok: false, diagnosis: { code: 'transport_refused' } })
    expect(summary(closed)).toEqual(['connect false'])
  })

  it('reports a certificate for another name', async () => {
    const server = createTlsServer(selfSigned(Date.now())).listen(0, '127.0.0.2')
    await once(server, 'listening')
    closers.push(() => server.close())
    const { port } = server.address() as { port: number }
    const report = await bench.edge.check(trunkPlan({ port }, { transport: 'tls', host: '127.0.0.2' }))
    expect(report).toMatchObject({ ok: false, diagnosis: { code: 'tls_name_mismatch' } })
    expect(report.checks.find(({ name }) => name === 'certificate')?.ok).toBe(false)
  })

  it('reports a port without TLS', async () => {
    const plain = createServer(socket => socket.end('no\r\n')).listen(0, '127.0.0.1')
    await once(plain, 'listening')
    closers.push(() => plain.close())
    const { port } = plain.address() as { port: number }
    const report = await bench.edge.check(trunkPlan({ port }, { transport: 'tls' }))
    expect(report).toMatchObject({ ok: false, diagnosis: { code: 'tls_failed' } })
  })
})
