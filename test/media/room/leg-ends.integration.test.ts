/** Ends of a leg over a room, and failures that it survives. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import { Room, SimulateScenarioKind } from '@livekit/rtc-node'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { systemClock } from '../../../infra/adapters/clock.ts'
import type { Leg } from '../../../media/ports/leg.ts'
import { AWAY_MS } from '../../../media/room/leg.ts'
import type { Clock } from '../../../media/shared/clock.ts'
import { livekitBinary, startTestLiveKit, type TestLiveKit } from '../../support/livekit.ts'
import { recordingLog, until } from '../../support/world.ts'
import {
  AGENT,
  admin,
  attach,
  CALLER,
  type Edge,
  endlessTone,
  hears,
  hurried,
  join,
  joinCaller,
  joinLeg,
  meet,
  newRoom,
  present,
  talkBothWays,
} from './rig.ts'

let livekit: TestLiveKit
beforeAll(async () => {
  if (livekitBinary) livekit = await startTestLiveKit()
})
const children = new Set<ChildProcess>()
afterAll(async () => {
  for (const child of children) child.kill('SIGKILL')
  await livekit?.stop()
})

const CHILD = fileURLToPath(new URL('./caller-process.ts', import.meta.url))

async function startCaller(room: string) {
  const token = await livekit.token({ room, identity: CALLER })
  const child = spawn(process.execPath, [CHILD, livekit.url, token], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, NODE_ENV: 'production' },
  })
  children.add(child)
  let said = ''
  child.stdout!.on('data', part => (said += part))
  await until(() => said.includes('there'), 'the client to be there')
  return {
    heard: () => until(() => said.includes('heard'), 'the client to hear the agent'),
    async kill() {
      child.kill('SIGKILL')
      await once(child, 'exit')
      children.delete(child)
    },
  }
}

/** Ends the wait for an absent participant when the test says so. */
function patientClock() {
  const waits: (() => void)[] = []
  const clock: Clock = {
    ...systemClock,
    after(ms, run) {
      if (ms !== AWAY_MS) return systemClock.after(ms, run)
      waits.push(run)
      return () => void waits.splice(waits.indexOf(run), 1)
    },
  }
  return { clock, waits }
}

const pause = async (edge: Edge) => {
  const pulls = edge.pulls.length
  await until(() => edge.pulls.length >= pulls + 10, 'the call to go on')
}

describe.skipIf(!livekitBinary)('a caller', () => {
  it('ends the call when the caller leaves', async () => {
    const { room, caller, leg } = await meet(livekit)
    const leftMs = performance.now()
    await caller.leave()
    const end = await leg.ended
    expect(end).toEqual({ by: 'remote', reason: 'caller_hangup', atMs: expect.any(Number) })
    // Reported a second later, when the caller has not returned; talked time ends here.
    expect(end.atMs! - leftMs).toBeLessThan(500)
    expect(performance.now() - leftMs).toBeLessThan(2000)
    await until(async () => (await present(livekit, room).catch(() => [])).length === 0, 'nobody to be left')
  })

  it('ends the call when the caller is removed or the room is deleted', async () => {
    const shownOut = await meet(livekit)
    await admin(livekit).removeParticipant(shownOut.room, CALLER)
    expect(await shownOut.leg.ended).toEqual({ by: 'remote', reason: 'caller_hangup' })
    const deleted = await meet(livekit)
    await admin(livekit).deleteRoom(deleted.room)
    expect(await deleted.leg.ended).toMatchObject({ reason: 'caller_hangup' })
    const agentOut = await meet(livekit)
    await admin(livekit).removeParticipant(agentOut.room, AGENT)
    expect(await agentOut.leg.ended).toEqual({ by: 'network', reason: 'caller_hangup' })
    await Promise.all([shownOut, deleted, agentOut].map(({ caller }) => caller.leave()))
  })

  // LiveKit takes 20 seconds to notice; in production 15 more are waited, which are cut short here.
  it('survives a client that vanishes and returns, or reports it lost', async () => {
    const rooms = [newRoom(), newRoom(), newRoom()]
    for (const name of rooms) await admin(livekit).createRoom({ name, departureTimeout: name === rooms[2] ? 2 : 120 })
    const clocks = rooms.map(() => patientClock())
    const callers = await Promise.all(rooms.map(startCaller))
    const legs = await Promise.all(rooms.map((room, i) => joinLeg(livekit, room, { clock: clocks[i]!.clock })))
    const edges = legs.map(leg => attach(leg, endlessTone(600)))
    await Promise.all(callers.map(caller => caller.heard()))
    const killedMs = performance.now()
    await Promise.all(callers.map(caller => caller.kill()))
    await Promise.all(clocks.map(({ waits }) => until(() => waits.length > 0, 'the caller to be missed', 30_000)))
    const awayMs = performance.now()
    expect(awayMs - killedMs).toBeLessThan(25_000)
    const pulled = edges.map(({ pulls }) => pulls.length)

    const back = await startCaller(rooms[1]!)
    await back.heard()
    await until(() => hears(edges[1]!, 400, edges[1]!.frames.length - 10), 'the caller who came back')
    expect(clocks[1]!.waits).toEqual([])

    expect(edges[0]!.pulls.length).toBe(pulled[0])
    clocks[0]!.waits[0]!()
    const lost = await legs[0]!.ended
    expect(lost).toEqual({ by: 'network', reason: 'connection_lost', atMs: expect.any(Number) })
    expect(lost.atMs!).toBeGreaterThan(killedMs + 3000)
    expect(lost.atMs!).toBeLessThanOrEqual(awayMs)

    // A server that closes a room over an empty chair does not make a hang-up of it.
    expect(await legs[2]!.ended).toEqual({ by: 'network', reason: 'connection_lost', atMs: expect.any(Number) })

    await back.kill()
    await legs[1]!.hangup('api_hangup')
    expect(await legs[1]!.ended).toEqual({ by: 'local', reason: 'api_hangup' })
  }, 180_000)

  it('replaces the old connection when the caller rejoins', async () => {
    const { room, caller, leg, edge } = await meet(livekit)
    await talkBothWays({ caller, edge })
    const again = await joinCaller(livekit, room)
    await caller.ended()
    await talkBothWays({ caller: again, edge })
    await again.leave()
    expect(await leg.ended).toMatchObject({ by: 'remote', reason: 'caller_hangup' })
  })
})

describe.skipIf(!livekitBinary)('a connection', () => {
  const rooms = vi.spyOn(Room.prototype, 'connect')
  const { SIMULATE_SIGNAL_RECONNECT, SIMULATE_FULL_RECONNECT } = SimulateScenarioKind

  for (const [name, kind] of [
    ['its signalling', SIMULATE_SIGNAL_RECONNECT],
    ['all of it', SIMULATE_FULL_RECONNECT],
  ] as const) {
    it(`survives a client that loses ${name}`, async () => {
      const { room, caller, leg, edge } = await meet(livekit)
      await talkBothWays({ caller, edge })
      await caller.room.simulateScenario(kind)
      await talkBothWays({ caller, edge })
      expect((await present(livekit, room)).sort()).toEqual([AGENT, CALLER])
      await caller.leave()
      expect(await leg.ended).toMatchObject({ by: 'remote', reason: 'caller_hangup' })
    })

    it(`reconnects our connection after losing ${name}`, async () => {
      const { room, caller, leg, edge } = await meet(livekit)
      await talkBothWays({ caller, edge })
      leg.show!({ type: 'state', state: 'thinking' })
      const ours = rooms.mock.contexts.at(-1) as unknown as Room
      expect(ours.localParticipant!.identity).toBe(AGENT)
      await ours.simulateScenario(kind)
      await talkBothWays({ caller, edge })
      const agent = () => caller.room.remoteParticipants.get(AGENT)?.attributes
      await caller.wait(() => agent()?.['lk.agent.state'] === 'thinking', 'the state to be shown again')
      expect(agent()?.['parley.call_id']).toMatch(/^[0-9a-f-]{36}$/)
      expect((await present(livekit, room)).sort()).toEqual([AGENT, CALLER])
      await caller.leave()
      expect(await leg.ended).toMatchObject({ by: 'remote', reason: 'caller_hangup' })
    })
  }
})

describe.skipIf(!livekitBinary)('a room', () => {
  const failed = { ok: false, failure: { status: 'failed', reason: 'room_unreachable', sipCode: null } }

  it('fails in time when unavailable', async () => {
    const room = newRoom()
    const mute = createServer(() => {}).listen(0, '127.0.0.1')
    await once(mute, 'listening')
    const { port } = mute.address() as { port: number }
    const log = recordingLog()
    const [silent, refused, badToken] = await Promise.all([
      join(livekit, room, { url: `ws://127.0.0.1:${port}`, clock: hurried, log }),
      join(livekit, room, { url: 'ws://127.0.0.1:1' }),
      join(livekit, room, { token: 'not.a.token' }),
    ])
    expect([silent, refused, badToken]).toEqual([failed, failed, failed])
    expect(String(log.lines[0]!.fields['err'])).toContain('10000 ms')
    mute.close()
  })

  it('leaves no participant after an abort', async () => {
    const room = newRoom()
    const caller = await joinCaller(livekit, room)
    const canceled = { ok: false, failure: { status: 'canceled', reason: 'canceled_by_api', sipCode: null } }
    for (const afterMs of [0, 20, 100, 200]) {
      const abort = new AbortController()
      const joining = join(livekit, room, { signal: abort.signal })
      systemClock.after(afterMs, () => abort.abort())
      const result = await joining
      if (result.ok) await result.leg.hangup('canceled_by_api')
      else expect(result).toEqual(canceled)
    }
    expect(await join(livekit, room, { signal: AbortSignal.abort() })).toEqual(canceled)
    await until(async () => (await present(livekit, room)).join() === CALLER, 'nobody but the caller', 15_000)
    await caller.leave()
  })

  it('ends when the caller has left', async () => {
    const room = newRoom()
    const result = await join(livekit, room)
    expect(result).toEqual({ ok: false, failure: { status: 'canceled', reason: 'caller_canceled', sipCode: null } })
    await until(async () => (await present(livekit, room).catch(() => [])).length === 0, 'nobody to be left')
  })

  it('waits briefly for the caller', async () => {
    const room = newRoom()
    const joining = joinLeg(livekit, room)
    await until(async () => (await present(livekit, room).catch((): string[] => [])).includes(AGENT), 'us')
    const caller = await joinCaller(livekit, room)
    const leg: Leg = await joining
    const edge = attach(leg)
    await talkBothWays({ caller, edge })
    await pause(edge)
    await leg.hangup('agent_hangup')
    await caller.wait(() => caller.room.remoteParticipants.size === 0, 'us to leave')
    await caller.leave()
  })
})
