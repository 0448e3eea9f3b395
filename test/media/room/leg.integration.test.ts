/** Audio of a leg over a room, with a real LiveKit server and a client that shares no code with the leg. */
import { AudioFrame, AudioSource, LocalAudioTrack, TrackPublishOptions, TrackSource } from '@livekit/rtc-node'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { rms } from '../../../media/audio/frames.ts'
import { livekitBinary, startTestLiveKit, type TestLiveKit } from '../../support/livekit.ts'
import { joinRoom as joinAsPeer, ROOM_RATE } from '../../support/room-peer.ts'
import { until } from '../../support/world.ts'
import {
  admin,
  attach,
  endlessTone,
  hears,
  isTone,
  joinCaller,
  joinLeg,
  LOUD,
  meet,
  newRoom,
  purity,
  tone,
} from './rig.ts'

/** Others may hold up the processor for so long. */
const STALL_MS = 300

let livekit: TestLiveKit
beforeAll(async () => {
  if (livekitBinary) livekit = await startTestLiveKit()
})
afterAll(() => livekit?.stop())

/** Another track of the same participant; sends this tone until it is stopped. */
async function speakOn(peer: Awaited<ReturnType<typeof joinCaller>>, source: TrackSource, hz: number) {
  const audio = new AudioSource(ROOM_RATE, 1)
  const track = LocalAudioTrack.createAudioTrack(`tone ${hz}`, audio)
  const published = await peer.room.localParticipant!.publishTrack(track, new TrackPublishOptions({ source }))
  const next = endlessTone(hz)
  let speaking = true
  const run = (async () => {
    while (speaking) await audio.captureFrame(new AudioFrame(next(), ROOM_RATE, 1, ROOM_RATE / 50)).catch(() => {})
  })()
  return {
    async stop() {
      speaking = false
      await run
      await peer.room.localParticipant!.unpublishTrack(published.sid!)
      await track.close()
    },
  }
}

describe.skipIf(!livekitBinary)('sound of a leg over a room', () => {
  it('passes both ways at 48 kHz', async () => {
    const { caller, leg, edge } = await meet(livekit)
    const said = caller.say(tone(3000, 400))
    edge.play(endlessTone(450)) // half a period more than ten milliseconds hold: parts in a wrong order would show
    await until(() => edge.frames.filter(({ pcm }) => isTone(pcm, 400)).length > 50, 'a second of the caller')
    expect(new Set(edge.frames.map(({ pcm }) => pcm.length))).toEqual(new Set([ROOM_RATE / 50]))
    for (const [i, { atMs }] of edge.frames.entries()) {
      expect(atMs).toBeGreaterThanOrEqual(edge.frames[i - 1]?.atMs ?? 0)
    }
    await caller.wait(() => caller.heard.filter(({ samples }) => isTone(samples, 450)).length > 100, 'the agent')
    // A smooth second must come; when others have the processor there are also rough ones.
    const isSmooth = () => {
      const second = caller.heard.slice(-50).map(({ samples }) => purity(samples, 450))
      return second.length === 50 && second.every(pure => pure > 0.99)
    }
    await caller.wait(isSmooth, 'a second of the agent without a flaw', 12_000)
    const { pulls } = edge
    const isPaced = () => pulls.slice(50).some((atMs, i) => Math.abs((atMs - pulls[i]!) / 50 - 20) < 0.5)
    await until(isPaced, 'a second at its pace')
    // A frame too many in a second would be heard sooner or later. What a stall held up may come at once.
    await until(() => pulls.length > 500, 'ten seconds of it', 20_000)
    expect(pulls.at(-1)! - pulls[0]! + STALL_MS).toBeGreaterThan(20 * (pulls.length - 1))
    await said
    await caller.leave()
    expect(await leg.ended).toMatchObject({ by: 'remote', reason: 'caller_hangup' })
  })

  it('loses nothing for a client that just joined', async () => {
    for (let round = 0; round < 3; round++) {
      const room = newRoom()
      const caller = await joinCaller(livekit, room)
      const leg = await joinLeg(livekit, room)
      const word = tone(200, 1000)
      let at = 0
      attach(leg, () => {
        const frame = at < word.length ? word.slice(at, at + 960) : null
        at += 960
        return frame
      })
      await caller.wait(() => caller.heard.some(({ samples }) => rms(samples) > LOUD), 'the first word')
      await caller.wait(() => rms(caller.heard.at(-1)!.samples) < 50, 'its end')
      const heardMs = 20 * caller.heard.filter(({ samples }) => rms(samples) > LOUD).length
      expect(heardMs).toBeGreaterThanOrEqual(160)
      await caller.leave()
      await leg.ended
    }
  })

  it('stops with the next frame, and soon at the client', async () => {
    const { caller, leg, edge } = await meet(livekit)
    const late: number[] = []
    for (let round = 0; round < 5; round++) {
      const from = caller.heard.length
      edge.play(endlessTone(600))
      await caller.wait(
        () => caller.heard.slice(from).filter(({ samples }) => rms(samples) > LOUD).length > 20,
        'sound',
      )
      edge.play(null)
      const cutMs = performance.now()
      await caller.wait(() => rms(caller.heard.at(-1)!.samples) < 20, 'silence')
      late.push(caller.heard.findLast(({ samples }) => rms(samples) > LOUD)!.atMs - cutMs)
    }
    late.sort((a, b) => a - b)
    expect(late[2]).toBeLessThan(250)
    await leg.hangup('agent_hangup')
    await caller.leave()
  })
})

describe.skipIf(!livekitBinary)("the caller's microphone", () => {
  it('is silent when muted by the server', async () => {
    const { room, caller, leg, edge } = await meet(livekit)
    const stop = new AbortController()
    const speaking = (async () => {
      while (!stop.signal.aborted) await caller.say(tone(1000, 400))
    })()
    await until(() => hears(edge, 400), 'the caller')
    const [sid] = [...caller.room.localParticipant!.trackPublications.keys()]
    await admin(livekit).mutePublishedTrack(room, caller.identity, sid!, true)
    await until(() => edge.frames.slice(-10).every(({ pcm }) => rms(pcm) < 50), 'silence')
    const muted = edge.frames.length
    const pulls = edge.pulls.length
    await until(() => edge.pulls.length > pulls + 25, 'half a second')
    expect(hears(edge, 400, muted)).toBe(false)
    await admin(livekit)
      .mutePublishedTrack(room, caller.identity, sid!, false)
      .catch(() => {}) // may be forbidden
    stop.abort()
    await speaking
    await leg.hangup('agent_hangup')
    await caller.leave()
  })

  it('may be enabled late, disabled, and enabled again', async () => {
    const { caller, leg, edge } = await meet(livekit, { microphone: false })
    await until(() => edge.pulls.length > 25, 'the call to go on')
    expect(edge.frames).toEqual([])
    for (let round = 0; round < 3; round++) {
      const from = edge.frames.length
      const microphone = await speakOn(caller, TrackSource.SOURCE_MICROPHONE, 400)
      await until(() => hears(edge, 400, from), 'the caller')
      await microphone.stop()
      const pulls = edge.pulls.length
      await until(() => edge.pulls.length > pulls + 25, 'half a second')
      expect(edge.frames.slice(-5).every(({ atMs }) => performance.now() - atMs > 200)).toBe(true)
    }
    await leg.hangup('agent_hangup')
    await caller.leave()
  })

  it('is the newest unmuted track', async () => {
    const { caller, leg, edge } = await meet(livekit, { microphone: false })
    const first = await speakOn(caller, TrackSource.SOURCE_MICROPHONE, 400)
    await until(() => hears(edge, 400), 'the first')
    const second = await speakOn(caller, TrackSource.SOURCE_MICROPHONE, 700)
    await until(() => hears(edge, 700), 'the second')
    await first.stop()
    const from = edge.frames.length
    await until(() => hears(edge, 700, from + 25), 'the second to be heard on')
    const third = await speakOn(caller, TrackSource.SOURCE_MICROPHONE, 1000)
    await until(() => hears(edge, 1000), 'the third')
    await third.stop()
    const then = edge.frames.length
    await until(() => hears(edge, 700, then), 'the second again')
    await second.stop()
    await leg.hangup('agent_hangup')
    await caller.leave()
  })

  it('is the only source: no screen share, no other participant', async () => {
    const { room, caller, leg, edge } = await meet(livekit)
    const screen = await speakOn(caller, TrackSource.SOURCE_SCREENSHARE_AUDIO, 700)
    const other = await joinAsPeer(livekit.url, await livekit.token({ room, identity: 'somebody' }))
    const said = [other.say(tone(1500, 1000)), caller.say(tone(1500, 400))]
    await until(() => edge.frames.filter(({ pcm }) => isTone(pcm, 400)).length > 25, 'the caller')
    expect(edge.frames.some(({ pcm }) => purity(pcm, 700) > 0.2 && rms(pcm) > 100)).toBe(false)
    expect(edge.frames.some(({ pcm }) => purity(pcm, 1000) > 0.2 && rms(pcm) > 100)).toBe(false)
    await other.room.localParticipant!.publishDtmf(5, '5')
    await caller.room.localParticipant!.publishDtmf(7, '7')
    await until(() => edge.keys.length > 0, 'a key')
    expect(edge.keys).toEqual(['7'])
    await Promise.all(said)
    await other.leave()
    await screen.stop()
    const pulls = edge.pulls.length
    await until(() => edge.pulls.length > pulls + 25, 'the call to go on')
    expect(leg.stats()).toMatchObject({ codec: 'opus' })
    expect(leg.stats().packets_sent).toBeGreaterThan(50)
    await leg.hangup('agent_hangup')
    expect(await leg.ended).toEqual({ by: 'local', reason: 'agent_hangup' })
    await caller.leave()
  })
})
