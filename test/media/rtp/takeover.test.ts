/** Audio from sources that are neither signalled nor latched is dropped, before and after the call's own audio. */
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { systemClock } from '../../../infra/adapters/clock.ts'
import { decodeG711, encodeG711 } from '../../../media/audio/g711.ts'
import type { AudioFrame } from '../../../media/ports/leg.ts'
import { createPacer } from '../../../media/rtp/pacer.ts'
import { parseRtp, writeRtpHeader } from '../../../media/rtp/packet.ts'
import { openRtp, type RtpSession } from '../../../media/rtp/session.ts'
import { quietLog, until } from '../../support/world.ts'

const pacer = createPacer(systemClock)
const [OURS, THEIRS] = [1000, 20_000]
let rtp: RtpSession
let named: Socket
let stranger: Socket
let heard: AudioFrame[]
/** Packets sent to the attacker. */
let leaked: number

const socketAt = async (host: string): Promise<Socket> => {
  const socket = createSocket('udp4').bind(0, host)
  await once(socket, 'listening')
  return socket
}

beforeEach(async () => {
  rtp = await openRtp({ host: '127.0.0.1', ports: { min: 0, max: 0 }, clock: systemClock, pacer, log: quietLog })
  named = await socketAt('127.0.0.1')
  stranger = await socketAt('127.0.0.2')
  heard = []
  leaked = 0
  stranger.on('message', () => {
    leaked += 1
  })
  const remote = { address: '127.0.0.1', port: named.address().port }
  rtp.configure({ remote, codec: 'PCMU', payloadType: 0, dtmfPayloadType: 101, direction: 'sendrecv' })
  rtp.attach({ pull: () => new Int16Array(160).fill(3000), push: frame => heard.push(frame), dtmf: () => {} })
})
afterEach(() => {
  rtp.close()
  named.close()
  stranger.close()
})

function send(from: Socket, sequence: number, level: number, ssrc: number, marker = false): void {
  const data = Buffer.alloc(172)
  encodeG711('PCMU', new Int16Array(160).fill(level), data.subarray(12))
  writeRtpHeader(data, { payloadType: 0, marker, sequence, timestamp: sequence * 160, ssrc })
  from.send(data, rtp.local.port, '127.0.0.1')
}

const rejected = (count: number) => until(() => rtp.stats().packets_rejected >= count, `${count} refusals`)
const isOurs = (frame: AudioFrame): boolean => Math.abs(frame.pcm[0]!) < 2 * OURS

it('rejects a stranger before the first audio, and accepts the right source at once', async () => {
  for (let n = 0; n < 20; n++) send(stranger, n, THEIRS, 9)
  await rejected(20)
  expect(heard).toEqual([])
  send(named, 500, OURS, 7)
  await until(() => heard.length > 0, 'the first word')
  expect(heard.every(isOurs)).toBe(true)
})

it("rejects a stranger afterwards, even with the stream's SSRC and sequence", async () => {
  send(named, 1, OURS, 7)
  await until(() => heard.length > 0, 'the first word')
  for (let n = 2; n < 62; n++) send(stranger, n, THEIRS, 7)
  for (let n = 0; n < 60; n++) send(stranger, n, THEIRS, 1000 + n, true)
  await rejected(120)
  send(named, 2, OURS, 7)
  await until(() => heard.length > 1, 'the next word')
  expect(heard.every(isOurs)).toBe(true)
  expect(leaked).toBe(0)
})

it('accepts a new SSRC from the right address only', async () => {
  send(named, 1, OURS, 7)
  await until(() => heard.length > 0, 'the first stream')
  send(stranger, 9000, THEIRS, 8, true)
  send(named, 40_000, OURS, 8, true)
  await until(() => heard.length > 1, 'the second stream')
  await rejected(1)
  expect(heard.every(isOurs)).toBe(true)
  expect(leaked).toBe(0)
})

it('sends audio to the signalled address', async () => {
  const levels: number[] = []
  named.on('message', data => levels.push(decodeG711('PCMU', parseRtp(data)!.payload)[0]!))
  for (let n = 0; n < 20; n++) send(stranger, n, THEIRS, 9)
  await until(() => levels.length > 10, 'our sound')
  expect(levels.some(level => level > 2000)).toBe(true)
  expect(leaked).toBe(0)
})
