import { describe, expect, it } from 'vitest'
import {
  mayName,
  mayReach,
  readPrivateHosts,
  type SourcePolicy,
  sourceProblem,
} from '../../../media/shared/addresses.ts'
import { ownAddresses } from '../../../media/shared/own-addresses.ts'

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

describe('addresses of this installation', () => {
  const entry = (address: string) => ({ address, family: 'IPv4', internal: false }) as never
  const read = () => ({ lo: [entry('127.0.0.1')], eth1: [entry('77.77.77.77'), entry('fe80::1%eth1')] })
  const own = ownAddresses(['5.5.4.1', 'sip.example.com', null], read, () => 0)()

  it('are those of every interface, and the configured ones', () => {
    expect([...own].sort()).toEqual(['127.0.0.1', '5.5.4.1', '77.77.77.77', 'fe80::1'])
  })

  it.each(['77.77.77.77', '5.5.4.1', '::ffff:5.5.4.1', '[::ffff:4d4d:4d4d]', '1296911693'])(
    'count as private: %s',
    at => {
      expect([mayReach('deny', at, own), mayName('deny', at, own)]).toEqual([false, false])
      expect([mayReach('allow', at, own), mayReach(['77.77.77.0/24', '5.5.4.1'], at, own)]).toEqual([true, true])
    },
  )

  it('are read again, because interfaces change', () => {
    let [atMs, address] = [0, '1.1.1.1']
    const changing = ownAddresses(
      [],
      () => ({ eth0: [entry(address)] }),
      () => atMs,
    )
    expect([...changing()]).toEqual(['1.1.1.1'])
    address = '1.1.1.2'
    expect([...changing()]).toEqual(['1.1.1.1'])
    atMs = 5000
    expect([...changing()]).toEqual(['1.1.1.2'])
  })
})

describe('a source that a trunk lists', () => {
  const policy: SourcePolicy = { privateHosts: 'deny', wide: [], own: new Set(['77.77.77.77', '2a0b:77::77']) }
  const problem = (text: string, over: Partial<SourcePolicy> = {}) => sourceProblem({ ...policy, ...over }, text)

  it.each(['37.20.4.0/24', '37.20.4.7', '37.20.4.7/32', '2a0b:99:7::/48', '2a0b:99:7::1', '::ffff:37.20.4.0/120'])(
    'may be %s',
    text => expect(problem(text)).toBeNull(),
  )

  it.each([
    ...['0.0.0.0/0', '::/0', '0.0.0.0/1', '128.0.0.0/1', '37.20.4.0/23', '37.20.4.7/8', '2a0b:4::/47', '::/1'],
    ...['::ffff:0:0/96', '::ffff:37.20.4.0/119', '10.0.0.0/8', '2000::/3'],
  ])('has too short a prefix: %s', text => expect(problem(text)).toBe('prefix_too_short'))

  it.each([
    ...['127.0.0.1', '127.0.0.0/24', '::1', '10.1.2.0/24', '192.168.1.7', '100.64.3.0/24', '169.254.7.0/24'],
    ...['fd12:3456:789a::/48', 'fe80::1', '224.0.0.1', '0.0.0.0', '::', '64:ff9b::a00:1', '::ffff:10.0.0.1'],
    ...['77.77.77.77', '77.77.77.0/24', '::ffff:77.77.77.77', '2a0b:77::/48', '168.63.129.0/24'],
  ])('is not public, or ours: %s', text => expect(problem(text)).toBe('private_address'))

  it.each([
    '',
    'host',
    '1.2',
    '127.1',
    '0x7f000001',
    '1.2.3.4/',
    '1.2.3.4/33',
    '1.2.3.4/+24',
    '1.2.3.4/24/24',
    '1.2.3.4 ',
  ])('is malformed, though some readers accept it: "%s"', text => expect(problem(text)).toBe('malformed'))

  it('may be in the networks of the operator, as wide as these', () => {
    expect(problem('37.20.0.0/16', { wide: ['37.20.0.0/15'] })).toBeNull()
    expect(problem('37.16.0.0/13', { wide: ['37.20.0.0/15'] })).toBe('prefix_too_short')
    expect(problem('10.1.0.0/16', { privateHosts: ['10.0.0.0/8'] })).toBeNull()
    expect(problem('0.0.0.0/0', { privateHosts: ['10.0.0.0/8'] })).toBe('prefix_too_short')
    expect(['10.0.0.0/8', '127.0.0.1', '77.77.77.77'].map(text => problem(text, { privateHosts: 'allow' }))).toEqual([
      null,
      null,
      null,
    ])
    expect(problem('0.0.0.0/0', { privateHosts: 'allow' })).toBe('prefix_too_short')
    expect(problem('0.0.0.0/0', { wide: ['0.0.0.0/0'] })).toBeNull()
  })
})
