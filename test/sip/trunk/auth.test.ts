/** Digest challenges of carriers, answered by the edge itself. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { headerOf, type SipRequest } from '../../../sip/text/message.ts'
import { challengerUri } from '../../../sip/trunk/requests/ask.ts'
import type { SipIn } from '../../../sip/trunk/requests/srf.ts'
import { type Peer, reply } from '../peer.ts'
import { Bench, FarMedia, trunkPlan } from './bench.ts'
import { proofIn, seqOf, tagOf } from './digest-server.ts'

let bench: Bench
let peer: Peer
let far: FarMedia
beforeEach(async () => {
  bench = await Bench.start()
  peer = await bench.rig.udpPeer()
  far = await FarMedia.open()
})
afterEach(async () => {
  await bench.close()
  far.close()
})

const account = { username: 'user', password: 'pass' }
const contact = () => `Contact: <sip:far@127.0.0.1:${peer.port}>`
const answer = (invite: SipRequest) =>
  reply(peer, invite, '200 OK', [contact(), 'Content-Type: application/sdp'], far.sdp())
const challenge = (request: SipRequest, words: string, more: readonly string[] = []) =>
  reply(peer, request, '401 Prove It', [`WWW-Authenticate: Digest ${words}`, ...more])

describe('a call', () => {
  it.each([
    ['MD5 without qop', 'realm="r", nonce="n1"'],
    ['MD5', 'realm="r", nonce="n1", qop="auth", algorithm=MD5'],
    ['SHA-256', 'realm="r", nonce="n1", qop="auth,auth-int", algorithm=SHA-256, opaque="o"'],
    ['SHA-256-sess', 'realm="r", nonce="n1", qop="auth", algorithm=SHA-256-sess'],
    ['MD5-sess', 'realm="r", nonce="n1", qop="auth", algorithm=MD5-sess'],
  ])('authenticates by %s in the same call with the next CSeq', async (_name, words) => {
    const { result } = bench.dial(peer, account)
    const first = await peer.request('INVITE')
    expect(headerOf(first, 'Authorization')).toBeNull()
    challenge(first, words)
    const second = await peer.request('INVITE')
    expect(proofIn(second, 'pass')).toMatchObject({ right: true, params: { username: 'user', realm: 'r' } })
    expect(headerOf(second, 'Call-ID')).toBe(headerOf(first, 'Call-ID'))
    expect(tagOf(headerOf(second, 'From'))).toBe(tagOf(headerOf(first, 'From')))
    expect(tagOf(headerOf(second, 'From'))).toMatch(/./)
    expect(seqOf(second)).toBe(seqOf(first) + 1)
    answer(second)
    const outcome = await result
    expect(outcome.ok).toBe(true)
    // The ACK of the 401, and of the 200, which carries the same proof (RFC 3261 §22.1).
    expect(seqOf(await peer.request('ACK'))).toBe(seqOf(first))
    const ack = await peer.request('ACK')
    expect(seqOf(ack)).toBe(seqOf(second))
    expect(headerOf(ack, 'Authorization')).toBe(headerOf(second, 'Authorization'))
    expect(bench.rig.server.stats().dialogs).toBe(1)
    if (outcome.ok) void outcome.leg.hangup('agent_hangup')
    reply(peer, await peer.request('BYE'), '200 OK')
  })

  it('answers the stronger challenge', async () => {
    const { result } = bench.dial(peer, account)
    const strong = ['WWW-Authenticate: Digest realm="r", nonce="n2", qop="auth", algorithm=SHA-256']
    challenge(await peer.request('INVITE'), 'realm="r", nonce="n1", qop="auth"', strong)
    const second = await peer.request('INVITE')
    expect(proofIn(second, 'pass')).toMatchObject({ right: true, params: { algorithm: 'SHA-256', nonce: 'n2' } })
    reply(peer, second, '486 Busy Here')
    expect(await result).toMatchObject({ failure: { reason: 'busy' } })
  })

  it('accepts one new nonce when stale', async () => {
    const { result } = bench.dial(peer, account)
    for (const nonce of ['n1', 'n2', 'n3']) {
      const invite = await peer.request('INVITE')
      if (nonce === 'n3') expect(proofIn(invite, 'pass')).toMatchObject({ right: true, params: { nonce: 'n2' } })
      challenge(invite, `realm="r", nonce="${nonce}", stale=true`)
    }
    expect(await result).toMatchObject({ failure: { reason: 'auth_failed', sipCode: 401 } })
  })

  it('authenticates to a proxy and to the server behind it', async () => {
    const { result } = bench.dial(peer, account)
    const proxy = ['Proxy-Authenticate: Digest realm="proxy", nonce="p", qop="auth"']
    reply(peer, await peer.request('INVITE'), '407 Prove It', proxy)
    const second = await peer.request('INVITE')
    expect(proofIn(second, 'pass', 'Proxy-Authorization')?.right).toBe(true)
    challenge(second, 'realm="server", nonce="s"')
    const third = await peer.request('INVITE')
    expect(proofIn(third, 'pass')?.right).toBe(true)
    expect(proofIn(third, 'pass', 'Proxy-Authorization')).toMatchObject({ right: true, params: { nc: '00000002' } })
    reply(peer, third, '486 Busy Here')
    await result
  })

  it('reports an unsupported challenge once', async () => {
    for (const [words, told] of [
      ['realm="r", nonce="n", qop="auth-int"', 'an authentication method that we do not support'],
      ['realm="r", nonce="n", algorithm=AKAv1-MD5', 'an authentication method that we do not support'],
    ] as const) {
      const { result } = bench.dial(peer, account)
      challenge(await peer.request('INVITE'), words)
      expect(await result).toMatchObject({ failure: { reason: 'auth_failed', sipCode: 401 } })
      expect(bench.log.lines.join('\n')).toContain(told)
    }
    expect(peer.received.filter(message => message.kind === 'request' && message.method === 'INVITE')).toEqual([])
    expect(bench.log.lines.join('\n')).not.toMatch(/pass/)
  })

  it('cancels the second INVITE after a challenge', async () => {
    const { result, abort } = bench.dial(peer, account)
    challenge(await peer.request('INVITE'), 'realm="r", nonce="n"')
    const second = await peer.request('INVITE')
    abort.abort()
    reply(peer, second, '100 Trying')
    const cancel = await peer.request('CANCEL')
    expect(seqOf(cancel)).toBe(seqOf(second))
    reply(peer, cancel, '200 OK')
    reply(peer, second, '487 Request Terminated')
    expect(await result).toMatchObject({ failure: { status: 'canceled', sipCode: 487 } })
  })

  it('authenticates a challenged BYE', async () => {
    const { result } = bench.dial(peer, account)
    answer(await peer.request('INVITE'))
    const outcome = await result
    if (!outcome.ok) throw new Error(outcome.failure.reason)
    await peer.request('ACK')
    const over = outcome.leg.hangup('agent_hangup')
    const bye = await peer.request('BYE')
    reply(peer, bye, '407 Prove It', ['Proxy-Authenticate: Digest realm="r", nonce="n", algorithm=SHA-256'])
    const again = await peer.request('BYE')
    expect(proofIn(again, 'pass', 'Proxy-Authorization')?.right).toBe(true)
    expect(seqOf(again)).toBeGreaterThan(seqOf(bye))
    reply(peer, again, '200 OK')
    await over
    expect(bench.rig.server.stats().dialogs).toBe(0)
  })
})

describe('a registration', () => {
  const trunk = () => trunkPlan(peer, { ...account, mode: 'register' })
  const registered = ['Contact: <sip:user@127.0.0.1>;expires=3600']

  it('authenticates, and reuses the next nonce to unregister', async () => {
    bench.setTrunks(trunk())
    const first = await peer.request('REGISTER')
    challenge(first, 'realm="r", nonce="n1", qop="auth", algorithm=SHA-256')
    const second = await peer.request('REGISTER')
    expect(proofIn(second, 'pass')).toMatchObject({ right: true, params: { nc: '00000001' } })
    expect(seqOf(second)).toBe(seqOf(first) + 1)
    reply(peer, second, '200 OK', [...registered, 'Authentication-Info: nextnonce="n2", qop=auth'])
    await bench.until(() => bench.statuses.at(-1)?.registration === 'registered')
    const closing = bench.edge.close()
    const last = await peer.request('REGISTER')
    expect(proofIn(last, 'pass')).toMatchObject({ right: true, params: { nonce: 'n2', nc: '00000001' } })
    reply(peer, last, '200 OK')
    await closing
  })

  it('reports a wrong password after two attempts, and waits a minute', async () => {
    bench.setTrunks(trunk())
    for (const nonce of ['a', 'b']) challenge(await peer.request('REGISTER'), `realm="r", nonce="${nonce}"`)
    await bench.until(() => bench.statuses.at(-1)?.registration === 'failed')
    expect(bench.statuses.at(-1)?.lastError).toBe('The carrier did not accept the user name or password.')
    expect(peer.received).toEqual([])
  })

  it('reports a different realm', async () => {
    bench.setTrunks({ ...trunk(), realm: 'mine' })
    challenge(await peer.request('REGISTER'), 'realm="theirs", nonce="n"')
    await bench.until(() => bench.statuses.at(-1)?.registration === 'failed')
    expect(bench.statuses.at(-1)?.lastError).toContain('realm differs from the trunk')
  })
})

describe('target of the credentials', () => {
  const from = (source_address: string, source_port = 5070) => ({ source_address, source_port }) as SipIn

  it('is the challenger after DNS failover', () => {
    expect(challengerUri(from('192.0.2.1'), 'sip:carrier.example')).toBe('sip:192.0.2.1:5070')
    expect(challengerUri(from('2001:db8::1'), 'sip:a@h;transport=tcp')).toBe('sip:[2001:db8::1]:5070;transport=tcp')
    expect(challengerUri(from('192.0.2.1'), 'sip:192.0.2.9:5060')).toBeNull()
    expect(challengerUri(from('192.0.2.1'), 'sip:h;transport=tls')).toBeNull()
    expect(challengerUri(from('192.0.2.1'), 'sips:h')).toBeNull()
    expect(challengerUri(from(''), 'sip:h')).toBeNull()
  })
})
