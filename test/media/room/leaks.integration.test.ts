/** Legs that start and end leave no listeners, memory or participants behind. */
import type { EventEmitter } from 'node:events'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { livekitBinary, startTestLiveKit, type TestLiveKit } from '../../support/livekit.ts'
import { until } from '../../support/world.ts'
import { AGENT, admin, attach, CALLER, endlessTone, joinCaller, joinLeg, newRoom, present } from './rig.ts'

let livekit: TestLiveKit
beforeAll(async () => {
  if (livekitBinary) livekit = await startTestLiveKit()
})
afterAll(() => livekit?.stop())

/** Listeners of rtc-node's only client, to which every room, track and frame subscribes. */
const ffi = () => globalThis._ffiClientInstance as unknown as EventEmitter
const listeners = () => ffi().listenerCount('ffi_event')
/** Fails with the code of those that remain, which says what they wait for. */
const untilGone = (most: number) =>
  until(() => listeners() <= most, 'the listeners to be gone').catch(error => {
    throw new Error(`${error.message}; they are: ${ffi().listeners('ffi_event').map(String).join('\n')}`)
  })
const MB = 1024 * 1024

/** The first ones warm WebRTC up, and are not measured. */
const [WARM, LEGS] = inject('full') ? [20, 50] : [5, 12]

describe.skipIf(!livekitBinary)('many legs', () => {
  it('leak no listeners, memory or participants', async () => {
    const room = newRoom()
    const caller = await joinCaller(livekit, room)
    const before = listeners()
    const rss: number[] = []
    for (let round = 0; round < LEGS; round++) {
      const leg = await joinLeg(livekit, room)
      const edge = attach(leg, endlessTone(600))
      leg.show!({ type: 'words', who: 'agent', segment: 'agent-0', text: 'Hello.', final: true })
      await until(() => edge.pulls.length > 5, 'sound')
      await leg.hangup('agent_hangup')
      await caller.wait(() => caller.room.remoteParticipants.size === 0, 'the agent to leave')
      rss.push(process.memoryUsage.rss())
    }
    expect(await present(livekit, room)).toEqual([CALLER])
    await untilGone(before)
    // rtc-node 1.1 itself keeps half a megabyte for each room it was in.
    if (inject('full')) expect((rss.at(-1)! - rss[WARM - 1]!) / MB).toBeLessThan((LEGS - WARM) * 2.5)
    await caller.leave()
  }, 300_000)

  it('ended by the server leak no listeners', async () => {
    const room = newRoom()
    const caller = await joinCaller(livekit, room)
    const before = listeners()
    for (let round = 0; round < 5; round++) {
      const leg = await joinLeg(livekit, room)
      attach(leg)
      await admin(livekit).removeParticipant(room, AGENT)
      await leg.ended
      await caller.wait(() => caller.room.remoteParticipants.size === 0, 'the agent to leave')
    }
    await untilGone(before)
    await caller.leave()
  }, 180_000)
})
