/** A caller and a leg in a room of a real LiveKit server, and the audio at the leg's interface. */
import { AccessToken, RoomServiceClient } from 'livekit-server-sdk'
import { systemClock } from '../../../infra/adapters/clock.ts'
import { rms } from '../../../media/audio/frames.ts'
import type { DialResult } from '../../../media/ports/dialer.ts'
import type { AudioFrame, Leg } from '../../../media/ports/leg.ts'
import { joinRoom } from '../../../media/room/leg.ts'
import { createPacer } from '../../../media/rtp/pacer.ts'
import type { Clock } from '../../../media/shared/clock.ts'
import type { Log } from '../../../media/shared/log.ts'
import { plan } from '../../fakes/plan.ts'
import type { TestLiveKit } from '../../support/livekit.ts'
import { joinRoom as joinAsPeer, ROOM_RATE, type RoomPeer } from '../../support/room-peer.ts'
import { quietLog, until } from '../../support/world.ts'

export const CALLER = 'caller-1'
export const AGENT = 'agent-1'
export const LOUD = 1000

const pacer = createPacer(systemClock)
let rooms = 0
export const newRoom = () => `room-${process.pid}-${++rooms}`

/** Shortens long waits to a twentieth. */
export const hurried: Clock = {
  ...systemClock,
  after: (ms, run) => systemClock.after(ms >= 5000 ? ms / 20 : ms, run),
}

export const admin = ({ url, apiKey, apiSecret }: TestLiveKit) =>
  new RoomServiceClient(url.replace('ws', 'http'), apiKey, apiSecret)

export const present = async (livekit: TestLiveKit, room: string): Promise<string[]> =>
  (await admin(livekit).listParticipants(room)).map(({ identity }) => identity)

/** `ms` of one tone. */
export const tone = (ms: number, hz: number, level = 9000): Int16Array =>
  Int16Array.from({ length: (ROOM_RATE * ms) / 1000 }, (_, i) => level * Math.sin((2 * Math.PI * hz * i) / ROOM_RATE))

/** A continuous tone in frames of 20 ms; every period of it must fit into a second. */
export function endlessTone(hz: number): () => Int16Array {
  const second = tone(1000, hz)
  let at = 0
  return () => {
    const frame = second.slice(at, at + ROOM_RATE / 50)
    at = (at + ROOM_RATE / 50) % ROOM_RATE
    return frame
  }
}

/** Share of a tone in the audio, from 0 to 1 (Goertzel). */
export function purity(pcm: Int16Array, hz: number, rate = ROOM_RATE): number {
  const w = (2 * Math.PI * hz) / rate
  let [re, im, energy] = [0, 0, 0]
  for (let i = 0; i < pcm.length; i++) {
    re += pcm[i]! * Math.cos(w * i)
    im += pcm[i]! * Math.sin(w * i)
    energy += pcm[i]! ** 2
  }
  return energy === 0 ? 0 : (2 * (re * re + im * im)) / (pcm.length * energy)
}

export const isTone = (pcm: Int16Array, hz: number, rate = ROOM_RATE) => rms(pcm) > LOUD && purity(pcm, hz, rate) > 0.8

export interface SeatOptions {
  clock?: Clock
  log?: Log
  signal?: AbortSignal
  url?: string
  token?: string
}

/** As control makes it. */
function agentToken({ apiKey, apiSecret }: TestLiveKit, room: string): Promise<string> {
  const token = new AccessToken(apiKey, apiSecret, { identity: AGENT, ttl: 600 })
  token.kind = 'agent'
  token.addGrant({
    room,
    roomJoin: true,
    agent: true,
    canPublish: true,
    canSubscribe: true,
    canUpdateOwnMetadata: true,
  })
  return token.toJwt()
}

export async function join(livekit: TestLiveKit, room: string, options: SeatOptions = {}): Promise<DialResult> {
  const url = options.url ?? livekit.url
  return joinRoom({
    plan: plan({ direction: 'web', trunk_id: null, room: { url, name: room, sealed: '', caller: CALLER } }),
    seat: { url, token: options.token ?? (await agentToken(livekit, room)) },
    clock: options.clock ?? systemClock,
    pacer,
    log: options.log ?? quietLog,
    signal: options.signal ?? new AbortController().signal,
  })
}

export async function joinLeg(livekit: TestLiveKit, room: string, options: SeatOptions = {}): Promise<Leg> {
  const result = await join(livekit, room, options)
  if (!result.ok) throw new Error(`no leg: ${result.failure.reason}`)
  return result.leg
}

export const joinCaller = async (livekit: TestLiveKit, room: string, options?: { microphone?: boolean }) =>
  joinAsPeer(livekit.url, await livekit.token({ room, identity: CALLER }), options)

export interface Met {
  room: string
  caller: RoomPeer
  leg: Leg
  edge: Edge
}

export async function meet(livekit: TestLiveKit, options: SeatOptions & { microphone?: boolean } = {}): Promise<Met> {
  const room = newRoom()
  const { microphone = true } = options
  const caller = await joinCaller(livekit, room, { microphone })
  const leg = await joinLeg(livekit, room, options)
  return { room, caller, leg, edge: attach(leg) }
}

export interface Edge {
  frames: AudioFrame[]
  keys: string[]
  /** Times at which frames were pulled. */
  pulls: number[]
  /** Sets the audio source from now on; null is silence. */
  play(next: (() => Int16Array | null) | null): void
}

export function attach(leg: Leg, first: (() => Int16Array | null) | null = null): Edge {
  let next = first
  const edge: Edge = { frames: [], keys: [], pulls: [], play: sound => (next = sound) }
  leg.attach({
    pull() {
      edge.pulls.push(performance.now())
      return next?.() ?? null
    },
    push: frame => edge.frames.push(frame),
    dtmf: key => edge.keys.push(key),
  })
  return edge
}

/** The caller sends this tone, and the leg receives it. */
export const hears = (edge: Edge, hz: number, from = 0) => edge.frames.slice(from).some(({ pcm }) => isTone(pcm, hz))

/** Both directions: each side sends its own tone, and the other receives it. */
export async function talkBothWays({ caller, edge }: Pick<Met, 'caller' | 'edge'>): Promise<void> {
  const [heardFrom, saidFrom] = [edge.frames.length, caller.heard.length]
  edge.play(endlessTone(600))
  const said = caller.say(tone(3000, 400))
  await Promise.all([
    until(() => hears(edge, 400, heardFrom), 'the caller to be heard'),
    caller.wait(
      () => caller.heard.slice(saidFrom).some(({ samples }) => isTone(samples, 600)),
      'the agent to be heard',
    ),
  ])
  edge.play(null)
  await said
}
