/** RTP as carriers send it: the highest port number, hold, a new SSRC in mid-call. */
import { createSocket, type Socket } from 'node:dgram'
import { afterEach, describe, expect, it } from 'vitest'
import type { LegSink } from '../../../media/ports/leg.ts'
import { DtmfReceiver } from '../../../media/rtp/dtmf-receiver.ts'
import { JitterBuffer } from '../../../media/rtp/jitter.ts'
import { createPacer } from '../../../media/rtp/pacer.ts'
import { writeRtpHeader } from '../../../media/rtp/packet.ts'
import { openRtp, type RtpParams } from '../../../media/rtp/session.ts'
import { fakeClock } from '../../fakes/line.ts'
import { quietLog, until } from '../../support/world.ts'

const open: { close(): void }[] = []
afterEach(() => {
  for (const thing of open.splice(0)) thing.close()
})

async function session() {
  const clock = fakeClock()
  const rtp = await openRtp({
    host: '127.0.0.1',
    ports: { min: 0, max: 0 },
    clock,
    pacer: createPacer(clock),
    log: quietLog,
  })
  open.push(rtp)
  let pulled = 0
  const heard: number[] = []
  const sink: LegSink = {
    pull: () => {
      pulled++
      return null
    },
    push: frame => heard.push(frame.pcm.length),
    dtmf: () => {},
  }
  return { clock, rtp, sink, heard, pulled: () => pulled }
}
const params = (port: number, direction: RtpParams['direction'] = 'sendrecv'): RtpParams => ({
  remote: { address: '127.0.0.1', port },
  codec: 'PCMU',
  payloadType: 0,
  dtmfPayloadType: 101,
  direction,
})

describe('a session', () => {
  it('tolerates a peer on port 65535', async () => {
    const { clock, rtp, sink } = await session()
    rtp.configure(params(65_535))
    rtp.attach(sink)
    expect(() => clock.advance(10_000)).not.toThrow()
    expect(() => rtp.close()).not.toThrow()
  })

  it('on hold pulls no agent audio', async () => {
    const { clock, rtp, sink, pulled } = await session()
    rtp.configure(params(40_000))
    rtp.attach(sink)
    clock.advance(200)
    const before = pulled()
    expect(before).toBeGreaterThan(5)
    for (const direction of ['inactive', 'recvonly'] as const) {
      rtp.configure(params(40_000, direction))
      clock.advance(1000)
      expect(pulled()).toBe(before)
    }
    rtp.configure(params(40_000))
    clock.advance(200)
    expect(pulled()).toBeGreaterThan(before)
  })

  it('plays a new stream from its first packet', async () => {
    const { rtp, sink, heard } = await session()
    const peer: Socket = createSocket('udp4')
    await new Promise<void>(resolve => peer.bind(0, '127.0.0.1', resolve))
    open.push(peer)
    rtp.configure(params(peer.address().port))
    rtp.attach(sink)
    const send = (ssrc: number, sequence: number) => {
      const data = Buffer.alloc(172)
      writeRtpHeader(data, { payloadType: 0, marker: false, sequence, timestamp: sequence * 160, ssrc })
      peer.send(data, rtp.local.port, '127.0.0.1')
    }
    send(1, 1000)
    await until(() => heard.length === 1)
    send(2, 900) // behind, as if it came late
    await until(() => heard.length === 2, 'the first packet of the new stream', 1000)
    expect(rtp.stats()).toMatchObject({ packets_late: 0, packets_lost: 0 })
  })
})

describe('a jitter buffer', () => {
  it('flushes when another stream begins', () => {
    const jitter = new JitterBuffer(8000)
    const packet = (sequence: number) => ({ sequence, timestamp: sequence * 160, payload: new Uint8Array(160) })
    jitter.put(packet(1), 0)
    jitter.put(packet(3), 5)
    expect(jitter.startAnew(6)).toHaveLength(1)
    expect(jitter.put(packet(60_000), 10)).toHaveLength(1)
  })
})

describe('keys', () => {
  it('of a new stream count with earlier timestamps', () => {
    const receiver = new DtmfReceiver()
    const press = (ssrc: number, timestamp: number) =>
      receiver.receive({ ssrc, timestamp, payload: Uint8Array.of(5, 10, 0, 160) })
    expect([press(1, 900_000), press(1, 899_000), press(2, 1000), press(2, 1000), press(2, 9000)]).toEqual([
      '5',
      null,
      '5',
      null,
      '5',
    ])
  })
})
