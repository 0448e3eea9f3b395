/** Clients that flood a room with DTMF or texts, and tracks that are unpublished at once. */
import { setTimeout as pause } from 'node:timers/promises'
import type { RemoteTrack } from '@livekit/rtc-node'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Microphones } from '../../../media/room/microphones.ts'
import { livekitBinary, startTestLiveKit, type TestLiveKit } from '../../support/livekit.ts'
import { until } from '../../support/world.ts'
import { joinCaller, joinLeg, newRoom } from './rig.ts'

test('a track that its owner took back before we could read it ends nothing', () => {
  // rtc-node passes such a track when the participant has left meanwhile: its native handle is gone.
  const track = { ffi_handle: { handle: 1_000_000n } } as RemoteTrack
  const microphones = new Microphones(48_000, () => {})
  // A throw here is an unhandled rejection of rtc-node's event handler, which ends the engine with all its calls.
  expect(() => microphones.add('caller', track)).not.toThrow()
  microphones.close()
})

describe.skipIf(livekitBinary === null)('a client that floods us', () => {
  let livekit: TestLiveKit
  beforeAll(async () => {
    livekit = await startTestLiveKit()
  })
  afterAll(() => livekit?.stop())

  /** Each key is an event on the bus and a transaction of control, each text a question to a model that somebody pays. */
  test.each(['keys', 'texts'] as const)('with %s is not heard faster than a person can be', async kind => {
    const room = newRoom()
    const caller = await joinCaller(livekit, room, { microphone: false })
    const leg = await joinLeg(livekit, room)
    const got: string[] = []
    const note = (what: string) => void got.push(what)
    leg.attach({ pull: () => null, push() {}, dtmf: note, text: note })
    const local = caller.room.localParticipant!
    const send = (i: number) =>
      kind === 'keys' ? local.publishDtmf(i % 10, String(i % 10)) : local.sendText(`Say ${i}`, { topic: 'lk.chat' })
    await Promise.all(Array.from({ length: 400 }, (_, i) => send(i)))
    await until(() => got.length > 0, 'the first of it')
    await pause(500) // what is too many must not come, so there is nothing to wait for
    expect(got.length).toBeLessThan(60)
    await leg.hangup('agent_hangup')
    await caller.leave()
  })
})
