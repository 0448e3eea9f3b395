import { describe, expect, it } from 'vitest'
import { mayName, mayReach, readPrivateHosts } from '../../../media/shared/addresses.ts'

const INSIDE = [
  ...['127.0.0.1', '10.1.2.3', '172.16.0.1', '192.168.1.1', '169.254.169.254', '100.64.0.1', '0.0.0.0', '224.0.0.1'],
  // As resolvers read them, too.
  ...['127.1', '0x7f000001', '2130706433', '0177.0.0.1'],
  ...['::1', '::', 'fe80::1', 'fe80::1%eth0', 'fd00::1', '::ffff:10.0.0.1', '[::1]', '64:ff9b::a00:1', '168.63.129.16'],
]
const OUTSIDE = ['1.1.1.1', '198.41.0.4', '2606:4700:4700::1111', '[2606:4700:4700::1111]', '::ffff:1.1.1.1']

describe('a trunk', () => {
  it.each(INSIDE)('may be at %s where all may be, and nowhere else', address => {
    expect([mayReach('allow', address), mayReach('deny', address)]).toEqual([true, false])
    expect(mayName('deny', address)).toBe(false)
  })

  it.each(OUTSIDE)('may be at %s', address => {
    for (const hosts of ['deny', ['10.0.0.0/8'], 'allow'] as const) {
      expect([mayReach(hosts, address), mayName(hosts, address)]).toEqual([true, true])
    }
  })

  it('may be in the networks that are named, beside the internet', () => {
    const hosts = readPrivateHosts(' 10.0.0.0/8, 192.168.1.7 ,fd00:1::/32')!
    expect(
      ['10.9.9.9', '::ffff:10.9.9.9', '192.168.1.7', 'fd00:1:2::3', '1.1.1.1'].map(at => mayReach(hosts, at)),
    ).toEqual(Array(5).fill(true))
    expect(['11', '127.0.0.1', '192.168.1.8', 'fd00:2::3', '::1'].map(at => mayReach(hosts, at))).toEqual(
      Array(5).fill(false),
    )
  })

  it('is judged by name only where the name says it: what others stand for is seen when they are used', () => {
    expect(['localhost', 'LOCALHOST.', 'a.localhost'].map(name => mayName('deny', name))).toEqual([false, false, false])
    expect(['localhost', 'carrier.example'].map(name => mayName(['127.0.0.0/8'], name))).toEqual([true, true])
    expect(mayName('deny', 'carrier.example')).toBe(true)
    expect(mayReach('deny', 'carrier.example')).toBe(false)
  })
})

it.each(['', ',', 'yes', '10.0.0.0/33', 'allow,10.0.0.0/8', 'carrier.example'])('"%s" is no setting', text => {
  expect(readPrivateHosts(text)).toBeNull()
})
