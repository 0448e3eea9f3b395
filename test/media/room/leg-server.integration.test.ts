/** Behaviour of a leg when the LiveKit server goes away. */
import { afterEach, describe, expect, it } from 'vitest'
import { livekitBinary, startTestLiveKit, type TestLiveKit } from '../../support/livekit.ts'
import { until } from '../../support/world.ts'
import { AGENT, CALLER, meet, present, talkBothWays } from './rig.ts'

let livekit: TestLiveKit
const unhandled: unknown[] = []
const note = (error: unknown) => unhandled.push(error)
process.on('unhandledRejection', note)
afterEach(async () => {
  await livekit?.stop()
  process.off('unhandledRejection', note)
})

describe.skipIf(!livekitBinary)('a server that is killed', () => {
  it('ends the call when it stays away, and not when it is back', async () => {
    livekit = await startTestLiveKit()
    const { room, caller, leg, edge } = await meet(livekit)
    await talkBothWays({ caller, edge })
    await livekit.kill()
    const killed = edge.pulls.length
    await livekit.restart()
    await until(() => edge.pulls.length > killed + 200, 'the call to go on', 15_000)
    await talkBothWays({ caller, edge })
    expect((await present(livekit, room)).sort()).toEqual([AGENT, CALLER])

    await livekit.kill()
    const killedMs = performance.now()
    const end = await leg.ended
    expect(end).toEqual({ by: 'network', reason: 'connection_lost', atMs: expect.any(Number) })
    expect(performance.now() - killedMs).toBeLessThan(22_000)
    // The event reports the outage, not its start: the signalling notices it within seconds.
    expect(end.atMs! - killedMs).toBeLessThan(5000)
    const pulled = edge.pulls.length
    await leg.hangup('api_hangup') // nothing to do any more
    await caller.leave()
    expect(edge.pulls.length).toBe(pulled)
    expect(unhandled).toEqual([])
  }, 180_000)
})
