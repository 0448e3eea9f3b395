import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { writeRtpHeader } from '../../../media/rtp/packet.ts'
import { buildRtcp } from '../../../media/rtp/rtcp.ts'
import { indexNear, SrtpReceiver, SrtpSender } from '../../../media/rtp/srtp.ts'
import { MasterKey, SUITES, type SuiteName } from '../../../media/rtp/srtp-keys.ts'
import { createTransform } from '../../../media/rtp/srtp-transform.ts'

const hex = (text: string) => Buffer.from(text.replace(/\s/g, ''), 'hex')
const suites = Object.keys(SUITES) as SuiteName[]

function packet(sequence: number, options: { ssrc?: number; payload?: Uint8Array } = {}): Buffer {
  const data = Buffer.concat([Buffer.alloc(12), options.payload ?? Buffer.alloc(160, 0xab)])
  const { ssrc = 7 } = options
  writeRtpHeader(data, { payloadType: 0, marker: false, sequence: sequence & 0xffff, timestamp: sequence * 160, ssrc })
  return data
}
const report = (ssrc = 7) =>
  buildRtcp({ ssrc, cname: 'x', wallMs: 0, timestamp: 1, packets: 1, octets: 160, blocks: [], bye: false })

describe('keys', () => {
  it('are derived as in RFC 3711 appendix B.3', () => {
    const key = hex('E1F97A0D3E018BE0D64FA32C06DE4139 0EC675AD498AFEEBB6960B3AABE6')
    expect(new MasterKey('AES_CM_128_HMAC_SHA1_80', key).session('rtp')).toEqual({
      cipher: hex('C61E7A93744F39EE10734AFE3FF7A087'),
      auth: hex('CEBE321F6FF7716B6FD4AB49AF256A156D38BAA4'),
      salt: hex('30CBBC08863D8C85D49DB34A9AE1'),
    })
  })

  it('are derived as in RFC 6188 section 7.2', () => {
    const key = hex('f0f04914b513f2763a1b1fa130f10e2998f6f6e43e4309d1e622a0e332b9f1b6 3b04803de51ee7c96423ab5b78d2')
    expect(new MasterKey('AES_256_CM_HMAC_SHA1_80', key).session('rtp')).toEqual({
      cipher: hex('5ba1064e30ec51613cad926c5a28ef731ec7fb397f70a960653caf06554cd8c4'),
      auth: hex('fd9c32d39ed5fbb5a9dc96b30818454d1313dc05'),
      salt: hex('fa31791685ca444a9e07c6c64e93'),
    })
  })

  it('are hidden in logs and JSON', () => {
    const key = MasterKey.random('AES_CM_128_HMAC_SHA1_80')
    const seen = `${inspect({ key }, { depth: 9, showHidden: true })}${JSON.stringify({ key })}${String(key)}`
    expect(seen).not.toContain(key.base64())
    expect(seen).not.toMatch(/<Buffer|"data"/)
  })

  it('have the length of their suite', () => {
    expect(() => new MasterKey('AES_CM_128_HMAC_SHA1_80', Buffer.alloc(29))).toThrow(RangeError)
    for (const suite of suites)
      expect(Buffer.from(MasterKey.random(suite).base64(), 'base64').length).toBeGreaterThan(27)
  })
})

describe('the key stream', () => {
  // RFC 3711 appendix B.2: the session key and salt are given, SSRC and index are 0.
  it('is that of RFC 3711 appendix B.2', () => {
    const stream = keyStream(hex('2B7E151628AED2A6ABF7158809CF4F3C'), 48)
    expect(stream).toEqual(
      hex('E03EAD0935C95E80E166B16DD92B4EB4 D23513162B02D0F72A43A2FE4A5F97AB 41E95B3BB0A2E8DD477901E4FCA894C0'),
    )
  })

  it('is that of RFC 6188 section 7.1', () => {
    const stream = keyStream(hex('57f82fe3613fd170a85ec93c40b1f092 2ec4cb0dc025b58272147cc438944a98'), 32)
    expect(stream).toEqual(hex('92bdd28a93c3f52511c677d08b5515a4 9da71b2378a854f67050756ded165bac'))
  })

  function keyStream(cipher: Buffer, bytes: number): Buffer {
    const session = { cipher, auth: Buffer.alloc(20), salt: hex('F0F1F2F3F4F5F6F7F8F9FAFBFCFD') }
    const suite = cipher.length === 16 ? 'AES_CM_128_HMAC_SHA1_80' : 'AES_256_CM_HMAC_SHA1_80'
    const key = { suite, session: () => session } as unknown as MasterKey
    return createTransform(key, 'rtp').seal(Buffer.alloc(12), Buffer.alloc(bytes), Buffer.alloc(4), 0, 0).body
  }
})

describe('packets of libsrtp, byte by byte', () => {
  const rtp = hex(`800f1234decafbadcafebabe${'ab'.repeat(16)}`)
  const rtcp = hex(`81c8000bcafebabe${'ab'.repeat(16)}`)
  const cases: [SuiteName, string, string, string | null][] = [
    [
      'AES_CM_128_HMAC_SHA1_80',
      'e1f97a0d3e018be0d64fa32c06de4139 0ec675ad498afeebb6960b3aabe6',
      '800f1234decafbadcafebabe4e55dc4ce79978d88ca4d215949d2402b78d6acc99ea179b8dbb',
      '81c8000bcafebabe7128035be487b9bdbef89041f977a5a880000001993e08cd54d6c1230798',
    ],
    [
      'AES_256_CM_HMAC_SHA1_80',
      'f0f04914b513f2763a1b1fa130f10e2998f6f6e43e4309d1e622a0e332b9f1b6 3b04803de51ee7c96423ab5b78d2',
      '800f1234decafbadcafebabef1d9de17ff251ff1aa007774b0b4b40da08d9d9a5b3a55d8873b',
      null,
    ],
    [
      'AEAD_AES_128_GCM',
      '000102030405060708090a0b0c0d0e0f a0a1a2a3a4a5a6a7a8a9aaab',
      '800f1234decafbadcafebabec5002ede04cfdd2eb91159e0880aa06ed2976826f796b201df3131a127e8a392',
      '81c8000bcafebabec98b8b5df0392a55852b6c21ac8e7025c52c6fbea2b3b446ea31123ba88ce61e80000001',
    ],
  ]

  it.each(cases)('%s', (suite, key, sealedRtp, sealedRtcp) => {
    const master = new MasterKey(suite, hex(key))
    const sender = new SrtpSender(master)
    expect(sender.rtp(rtp)).toEqual(hex(sealedRtp))
    expect(new SrtpReceiver(master).rtp(hex(sealedRtp))).toEqual(rtp)
    if (sealedRtcp === null) return
    sender.rtcp(rtcp)
    expect(sender.rtcp(rtcp)).toEqual(hex(sealedRtcp))
    expect(new SrtpReceiver(master).rtcp(hex(sealedRtcp))).toEqual(rtcp)
  })
})

describe.each(suites)('%s', suite => {
  const pair = () => {
    const key = MasterKey.random(suite)
    return { sender: new SrtpSender(key), receiver: new SrtpReceiver(key) }
  }

  it('decrypts any length', () => {
    const { sender, receiver } = pair()
    for (const [i, length] of [0, 1, 15, 16, 17, 160, 1400].entries()) {
      const clear = packet(i, { payload: Buffer.alloc(length, 0x5a) })
      const sealed = sender.rtp(Buffer.from(clear))!
      expect(sealed.length).toBe(clear.length + SUITES[suite].rtpTagBytes)
      expect(sealed.subarray(0, 12)).toEqual(clear.subarray(0, 12))
      if (length > 15) expect(sealed.indexOf(Buffer.alloc(8, 0x5a))).toBe(-1)
      expect(receiver.rtp(sealed)).toEqual(clear)
    }
    for (let i = 0; i < 3; i++) expect(receiver.rtcp(sender.rtcp(report())!)).toEqual(report())
  })

  it('leaves CSRC and extensions in the clear', () => {
    const { sender, receiver } = pair()
    const clear = packet(5, {
      payload: Buffer.concat([hex('00000011 00000012 bede0001 10aa0000'), Buffer.alloc(20, 3)]),
    })
    clear[0] = 0x92
    const sealed = sender.rtp(clear)!
    expect(sealed.subarray(0, 28)).toEqual(clear.subarray(0, 28))
    expect(receiver.rtp(sealed)).toEqual(clear)
  })

  it('rejects replays, RTP and RTCP', () => {
    const { sender, receiver } = pair()
    const sealed = [1, 2, 3].map(sequence => sender.rtp(packet(sequence))!)
    const order = [0, 2, 1].map(i => receiver.rtp(sealed[i]!))
    expect(order.every(clear => clear !== null)).toBe(true)
    for (const again of sealed) expect(receiver.rtp(again)).toBeNull()
    const rtcp = sender.rtcp(report())!
    expect(receiver.rtcp(rtcp)).not.toBeNull()
    expect(receiver.rtcp(rtcp)).toBeNull()
  })

  it('rejects modified, truncated, extended or foreign packets', () => {
    const { sender, receiver } = pair()
    const [rtp, rtcp] = [sender.rtp(packet(9))!, sender.rtcp(report())!]
    const changed = (data: Buffer, at: number) => Buffer.from(data.map((byte, i) => (i === at ? byte ^ 1 : byte)))
    for (let at = 0; at < rtp.length; at++) expect(receiver.rtp(changed(rtp, at))).toBeNull()
    for (let at = 0; at < rtcp.length; at++) expect(receiver.rtcp(changed(rtcp, at))).toBeNull()
    for (let length = 0; length < rtp.length; length++) expect(receiver.rtp(rtp.subarray(0, length))).toBeNull()
    for (let length = 0; length < rtcp.length; length++) expect(receiver.rtcp(rtcp.subarray(0, length))).toBeNull()
    expect(receiver.rtp(Buffer.concat([rtp, Buffer.alloc(1)]))).toBeNull()
    const other = new SrtpSender(MasterKey.random(suite))
    expect(receiver.rtp(other.rtp(packet(9))!)).toBeNull()
    expect(receiver.rtcp(other.rtcp(report())!)).toBeNull()
    expect(receiver.rtp(packet(9))).toBeNull()
    expect(receiver.rtcp(report())).toBeNull()
    expect([receiver.rtp(rtp), receiver.rtcp(rtcp)]).toEqual([packet(9), report()])
  })

  it('survives sequence wrap with loss and reordering', () => {
    const { sender, receiver } = pair()
    const sealed = new Map<number, Buffer>()
    for (let index = 65_500; index < 65_600; index++) sealed.set(index, sender.rtp(packet(index))!)
    const take = (index: number) => receiver.rtp(sealed.get(index)!)
    for (const index of [65_500, 65_501, 65_530]) expect(take(index)).toEqual(packet(index))
    // 65535 and 65536 are lost; one of before comes late.
    for (const index of [65_540, 65_533, 65_541, 65_534, 65_599]) expect(take(index)).toEqual(packet(index))
    for (const index of [65_533, 65_540, 65_500]) expect(take(index)).toBeNull()
  })
})

describe('a receiver', () => {
  const key = MasterKey.random('AES_CM_128_HMAC_SHA1_80')

  it('separates SSRCs, within a limit', () => {
    const receiver = new SrtpReceiver(key)
    const taken = Array.from({ length: 300 }, (_, ssrc) => receiver.rtp(new SrtpSender(key).rtp(packet(1, { ssrc }))!))
    expect(taken.filter(clear => clear !== null)).toHaveLength(256)
    const next = new SrtpSender(key)
    next.rtp(packet(1, { ssrc: 3 }))
    expect(receiver.rtp(next.rtp(packet(2, { ssrc: 3 }))!)).not.toBeNull()
  })

  it('is not advanced by unauthentic packets', () => {
    const [sender, receiver] = [new SrtpSender(key), new SrtpReceiver(key)]
    receiver.rtp(sender.rtp(packet(100))!)
    const forger = new SrtpSender(MasterKey.random('AES_CM_128_HMAC_SHA1_80'))
    for (const sequence of [101, 20_000, 40_000, 65_535]) receiver.rtp(forger.rtp(packet(sequence))!)
    expect(receiver.rtp(sender.rtp(packet(101))!)).toEqual(packet(101))
  })

  it('rejects packets older than the window', () => {
    const [sender, receiver] = [new SrtpSender(key), new SrtpReceiver(key)]
    const old = sender.rtp(packet(1))!
    receiver.rtp(sender.rtp(packet(129))!)
    expect(receiver.rtp(old)).toBeNull()
  })

  it('rejects unencrypted SRTCP', () => {
    const sealed = new SrtpSender(key).rtcp(report())!
    sealed[sealed.length - 14]! &= 0x7f
    expect(new SrtpReceiver(key).rtcp(sealed)).toBeNull()
  })

  it('accepts the old key until the new one is used', () => {
    const fresh = MasterKey.random('AES_256_CM_HMAC_SHA1_80')
    const [sender, receiver] = [new SrtpSender(key), new SrtpReceiver(key)]
    receiver.rtp(sender.rtp(packet(1))!)
    const [late, tooLate] = [sender.rtp(packet(2))!, sender.rtp(packet(3))!]
    const [next, changed] = [new SrtpReceiver(fresh, receiver), new SrtpSender(fresh, sender)]
    expect(next.rtp(late)).toEqual(packet(2))
    expect(next.rtp(changed.rtp(packet(4))!)).toEqual(packet(4))
    expect(next.rtp(tooLate)).toBeNull()
  })

  it('supports rekeying with either rollover behaviour', () => {
    for (const keeps of [true, false]) {
      const fresh = MasterKey.random('AES_CM_128_HMAC_SHA1_80')
      const [sender, receiver] = [new SrtpSender(key), new SrtpReceiver(key)]
      for (const index of [30_000, 60_000, 70_000]) receiver.rtp(sender.rtp(packet(index))!)
      const next = new SrtpReceiver(fresh, receiver)
      const changed = new SrtpSender(fresh, keeps ? sender : null)
      for (const index of [70_001, 70_002]) expect(next.rtp(changed.rtp(packet(index))!)).toEqual(packet(index))
    }
  })
})

describe('a sender', () => {
  it('never uses an index twice', () => {
    const sender = new SrtpSender(MasterKey.random('AES_CM_128_HMAC_SHA1_80'))
    expect(sender.rtp(packet(5))).not.toBeNull()
    expect(sender.rtp(packet(5))).toBeNull()
    expect(sender.rtp(packet(4))).toBeNull()
  })
})

it('uses the index nearest to the last one', () => {
  expect(indexNear(65_535, 65_536)).toBe(65_535)
  expect(indexNear(0, 65_535)).toBe(65_536)
  expect(indexNear(65_535, 0)).toBe(-1)
  expect(indexNear(40_000, -1)).toBe(40_000)
  expect(indexNear(3, 65_536 * 5 + 65_000)).toBe(65_536 * 6 + 3)
})
