/** The whole product with a real LiveKit, and customers' clients in its rooms. */
import { randomInt } from 'node:crypto'
import { freePort } from '../../infra/embedded/ports.ts'
import { createResampler } from '../../media/audio/resample.ts'
import type { FleetSize } from './fleet.ts'
import { startTestLiveKit, type TestLiveKit } from './livekit.ts'
import { joinRoom, ROOM_RATE, type RoomPeer } from './room-peer.ts'
import { HOST, type Stack, startStack } from './stack.ts'
import type { Detail, Owner } from './stack-owner.ts'
import { RATE } from './stack-speech.ts'
import { until } from './world.ts'

export interface RoomStack extends Stack {
  livekit: TestLiveKit
}

export async function startRoomStack(
  settings: Record<string, string> = {},
  size: Partial<FleetSize> = {},
): Promise<RoomStack> {
  // Control needs LiveKit's address and LiveKit needs control's, so one is chosen in advance.
  const port = await freePort(28_000 + randomInt(4000), HOST)
  const livekit = await startTestLiveKit({ webhookUrl: `http://${HOST}:${port}/livekit/webhook` })
  try {
    const stack = await startStack(
      {
        HTTP_PORT: String(port),
        LIVEKIT_URL: livekit.url,
        LIVEKIT_API_KEY: livekit.apiKey,
        LIVEKIT_API_SECRET: livekit.apiSecret,
        ...settings,
      },
      size,
    )
    stack.onStop(() => livekit.stop())
    return Object.assign(stack, { livekit })
  } catch (error) {
    await livekit.stop()
    throw error
  }
}

export interface Session {
  url: string
  token: string
}

export async function openSession(owner: Owner, more: Record<string, unknown> = {}): Promise<Session> {
  const { status, body } = await owner.rest('POST', '/realtime/session', { project_id: owner.projectId, ...more })
  if (status !== 201) throw new Error(`POST /realtime/session: ${status} ${JSON.stringify(body)}`)
  return body
}

export interface WebCaller extends RoomPeer {
  joinedAtMs: number
  /** Milliseconds from joining to the first audio of an agent, except those in `but`. */
  firstSoundMs(but?: readonly string[]): Promise<number>
  /** Agents that were heard. */
  agents(): string[]
  /** Final transcripts of one side so far. */
  words(side: 'agent' | 'caller'): string[]
}

const LOUD = 500

export async function joinSession({ url, token }: Session): Promise<WebCaller> {
  const joinedAtMs = performance.now()
  const peer = await joinRoom(url, token)
  const ofAgent = (from: string) => from.startsWith('agent-')
  return {
    ...peer,
    joinedAtMs,
    agents: () => [...new Set(peer.heard.map(({ from }) => from))],
    async firstSoundMs(but = []) {
      const loud = () =>
        peer.heard.find(({ from, samples }) => !but.includes(from) && samples.some(sample => Math.abs(sample) > LOUD))
      await peer.wait(loud, 'the agent to be heard', 15_000)
      return loud()!.atMs - joinedAtMs
    },
    words: side =>
      peer.texts
        .filter(({ from, final, text }) => final && text !== '' && ofAgent(from) === (side === 'agent'))
        .map(({ text }) => text),
  }
}

/** Audio of the tests' voices for a room's microphone. */
export const wide = (pcm: Int16Array) => createResampler(RATE, ROOM_RATE).push(pcm)

export async function callsOf(owner: Owner): Promise<Detail[]> {
  const { body } = await owner.rest('GET', '/calls?direction=web&limit=50')
  return body.items
}

/** The newest of `calls` calls, when all have ended. */
export async function newestEnded(stack: Stack, owner: Owner, calls: number, ms = 30_000): Promise<Detail> {
  let last: string | undefined
  const ended = async () => {
    // Not by REST, which has rate limits.
    const rows = await stack.parts.sql<{ id: string; ended_at: Date | null }[]>`
      select id, ended_at from calls where owner_id = ${owner.id} order by created_at desc`
    last = rows[0]?.id
    return rows.length === calls && rows.every(row => row.ended_at !== null)
  }
  await until(ended, `the end of call ${calls}`, ms)
  return owner.detail(last!)
}
