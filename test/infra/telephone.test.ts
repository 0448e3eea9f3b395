/** The telephone of the demo and of simulations: it calls another one, and answers scripted peers. */
import { afterEach, describe, expect, it } from 'vitest'
import { PHONE_FRAME } from '../../infra/telephone/audio.ts'
import { CallRefused, type CallSide, Telephone } from '../../infra/telephone/telephone.ts'
import { rms } from '../../media/audio/frames.ts'
import type { G711 } from '../../media/audio/g711.ts'
import { headerOf } from '../../sip/text/message.ts'
import { Caller, Peer } from '../sip/peer.ts'

const HOST = '127.0.0.1'
const closers: { close(): void }[] = []
afterEach(() => {
  for (const open of closers.splice(0)) open.close()
})
const kept = <T extends { close(): void }>(open: T): T => {
  closers.push(open)
  return open
}

/** A person who speaks one constant level and keeps what happens. */
function person(level: number) {
  const events: string[] = []
  const heard: number[] = []
  const side: CallSide = {
    ringing: () => events.push('ringing'),
    answered: () => events.push('answered'),
    ended: () => events.push('ended'),
    pull: () => new Int16Array(PHONE_FRAME).fill(level),
    push: pcm => heard.push(rms(pcm)),
  }
  return { side, events, heard }
}

async function answering(ringMs = 20, codecs: G711[] = ['PCMU', 'PCMA']) {
  const people: ReturnType<typeof person>[] = []
  const side = () => {
    people.push(person(4000))
    return people.at(-1)!.side
  }
  const telephone = kept(await Telephone.open({ host: HOST, user: 'phone', codecs, answer: { ringMs, side } }))
  return { telephone, people, callee: { user: 'phone', host: HOST, port: telephone.port } }
}

describe('two telephones', () => {
  it.each(['PCMU', 'PCMA'] as const)('hear each other with %s until one hangs up', async codec => {
    const { people, callee } = await answering()
    const caller = person(9000)
    const telephone = kept(await Telephone.open({ host: HOST, user: 'me', codecs: [codec] }))
    await telephone.dial(callee, caller.side)
    const [other] = people
    await expect
      .poll(() => [caller.heard.at(-1) ?? 0, other!.heard.at(-1) ?? 0].map(Math.round))
      .toEqual([expect.closeTo(4000, -3), expect.closeTo(9000, -3)])
    await telephone.hangUp()
    expect(caller.events).toEqual(['answered', 'ended'])
    expect(other!.events).toEqual(['ringing', 'answered', 'ended'])
  })

  it('end when the one that answered hangs up', async () => {
    const { telephone: other, people, callee } = await answering()
    const caller = person(0)
    const telephone = kept(await Telephone.open({ host: HOST, user: 'me', codecs: ['PCMU'] }))
    await telephone.dial(callee, caller.side)
    await expect.poll(() => people[0]!.events).toContain('answered')
    await other.hangUp()
    expect([caller.events.at(-1), people[0]!.events.at(-1)]).toEqual(['ended', 'ended'])
  })

  it('agree on nothing without a common codec', async () => {
    const { people, callee } = await answering(20, ['PCMA'])
    const telephone = kept(await Telephone.open({ host: HOST, user: 'me', codecs: ['PCMU'] }))
    const refused = telephone.dial(callee, person(0).side)
    await expect(refused).rejects.toThrow(new CallRefused(488, 'Not Acceptable Here'))
    expect(people[0]!.events).toEqual(['ended'])
  })
})

describe('a received call', () => {
  async function called(ringMs?: number) {
    const phone = await answering(ringMs)
    const peer = kept(await Peer.udp(phone.telephone.port))
    const caller = new Caller(peer, `sip:phone@${HOST}:${phone.telephone.port}`)
    return { ...phone, peer, caller }
  }

  it('rings before it is answered, and a repeated INVITE gets the same 200', async () => {
    const { peer, caller, people } = await called(100)
    caller.invite()
    const ringing = await peer.response(180)
    peer.again()
    const ok = await caller.answered()
    expect(headerOf(ok, 'To')).toBe(headerOf(ringing, 'To'))
    expect(headerOf(ok, 'Contact')).toMatch(/^<sip:phone@127\.0\.0\.1:\d+>$/)
    peer.again()
    const repeated = await caller.answered()
    expect([repeated.headers, String(repeated.body)]).toEqual([ok.headers, String(ok.body)])
    expect(people).toHaveLength(1)
    expect(people[0]!.events).toEqual(['ringing'])
    caller.ack()
    await expect.poll(() => people[0]!.events).toEqual(['ringing', 'answered'])
    caller.request('BYE')
    await peer.response(200, 'BYE')
    expect(people[0]!.events).toEqual(['ringing', 'answered', 'ended'])
  })

  it('makes the telephone busy for others', async () => {
    const { peer, caller, people } = await called()
    caller.invite()
    await caller.answered()
    const second = new Caller(peer, `sip:phone@${HOST}:1`)
    second.invite()
    await second.answered(486)
    expect(people).toHaveLength(1)
    caller.request('BYE')
    await peer.response(200, 'BYE')
    const third = new Caller(peer, `sip:phone@${HOST}:1`)
    third.invite()
    await third.answered()
    expect(people).toHaveLength(2)
  })

  it('is not answered once it is canceled', async () => {
    const { peer, caller, people } = await called(200)
    caller.invite()
    await peer.response(180)
    caller.cancel()
    await peer.response(200, 'CANCEL')
    await caller.answered(487)
    await new Promise(resolve => setTimeout(resolve, 300))
    expect(peer.received).toEqual([])
    expect(people[0]!.events).toEqual(['ringing', 'ended'])
  })

  it('is busy where nobody answers, and OPTIONS tell what is understood', async () => {
    const telephone = kept(await Telephone.open({ host: HOST, user: 'me', codecs: ['PCMU'] }))
    const peer = kept(await Peer.udp(telephone.port))
    const caller = new Caller(peer, `sip:me@${HOST}:${telephone.port}`)
    caller.invite()
    await caller.answered(486)
    caller.request('OPTIONS')
    expect(headerOf(await peer.response(200, 'OPTIONS'), 'Allow')).toContain('INVITE')
  })
})
