/** A recorded call over SIP: its file compared with the audio on the wire, per channel and to the millisecond. */
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect } from 'vitest'
import { decodeWav } from '../../media/audio/wav.ts'
import { needs } from '../support/needs.ts'
import { type Stack, startStack } from '../support/stack.ts'
import type { CallStream, Owner } from '../support/stack-owner.ts'
import { play, type Sipp, startSipp, taken } from '../support/stack-sipp.ts'
import { silence } from '../support/stack-speech.ts'
import { isLoud, pcap, soundOf, type Tap, tapRtp, type WirePacket } from '../support/stack-wire.ts'
import { until } from '../support/world.ts'

const { describe, it } = needs('sipp', 'tcpdump')

const CALLEE = '+14155550188'
const RATE = 8000
let stack: Stack
let tap: Tap
beforeAll(async () => {
  stack = await startStack()
  tap = await tapRtp(stack)
})
afterAll(() => stack?.stop())

let state = 12_345
/** Never twice the same, so that only the right place fits. */
function noise(ms: number): Int16Array {
  return Int16Array.from({ length: (ms * RATE) / 1000 }, () => {
    state = (state * 48_271) % 2_147_483_647
    return (state % 16_000) - 8000
  })
}

/** Answers, and makes a noise now and then: between them is silence of lengths that differ. */
function noisy(on: Stack, name: string): Promise<Sipp> {
  const parts = [4000, 1700, 2300, 900, 20_000].flatMap(ms => [{ pcm: silence(ms) }, { pcm: noise(300) }])
  const file = pcap(join(on.folder, `${name}.pcap`), parts)
  return startSipp(on, taken([play(file)]), { seconds: 60 })
}

interface Sound {
  pcm: Int16Array
  /** Epoch ms of its first sample, by the packet that was most in time and by the one in the middle. */
  fromMs: number
  usualMs: number
}

function onTheWire(packets: readonly WirePacket[]): Sound {
  const [first] = packets.filter(({ payloadType }) => payloadType === 0 || payloadType === 8)
  const starts = packets
    .filter(({ payloadType }) => payloadType === first!.payloadType)
    .map(({ atMs, timestamp }) => atMs - ((timestamp - first!.timestamp) | 0) / (RATE / 1000))
    .sort((a, b) => a - b)
  return { pcm: soundOf(packets), fromMs: starts[0]!, usualMs: starts[starts.length >> 1]! }
}

/** Strength a millisecond. */
function envelope(pcm: Int16Array): Float64Array {
  const step = RATE / 1000
  return Float64Array.from({ length: Math.floor(pcm.length / step) }, (_, ms) => {
    let sum = 0
    for (let i = ms * step; i < (ms + 1) * step; i++) sum += Math.abs(pcm[i]!)
    return sum / step
  })
}

/** At which ms of `recorded` the sound of `wire` begins, and how well it fits there (1: the same). */
function findIn(recorded: Int16Array, wire: Int16Array): { ms: number; fit: number } {
  const [a, b] = [envelope(recorded), envelope(wire)]
  const energy = (one: Float64Array) => one.reduce((sum, strength) => sum + strength ** 2, 0)
  const most = Math.sqrt(energy(a) * energy(b))
  let best = { ms: 0, fit: -1 }
  for (let ms = -500; ms < a.length; ms++) {
    let shared = 0
    for (let i = Math.max(0, -ms); i < b.length && i + ms < a.length; i++) shared += a[i + ms]! * b[i]!
    if (shared / most > best.fit) best = { ms, fit: shared / most }
  }
  return best
}

async function fetched(owner: Owner, call: CallStream): Promise<{ left: Int16Array; right: Int16Array }> {
  const detail = await owner.detail(call.id)
  expect(detail.recording_url).toBe(`${stack.baseUrl}/v1/public/calls/${call.id}/recording`)
  const response = await owner.fetch(`/calls/${call.id}/recording`)
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'audio/wav'])
  const { pcm, channels, sampleRate } = decodeWav(Buffer.from(await response.arrayBuffer()))
  expect([channels, sampleRate]).toEqual([2, RATE])
  const side = (offset: number) => Int16Array.from({ length: pcm.length / 2 }, (_, i) => pcm[2 * i + offset]!)
  return { left: side(0), right: side(1) }
}

async function finished(owner: Owner, call: CallStream, sipp: Sipp): Promise<void> {
  await owner.rest('POST', `/calls/${call.id}/hangup`)
  await call.ended()
  await sipp.done
}

describe('a call of a project that records', () => {
  it('is kept as it was on the wire: caller left, agent right, each at its time', { timeout: 180_000 }, async () => {
    const sipp = await noisy(stack, 'kept')
    const project = { recording: true, greeting: 'Good morning, this is the recorded line. How can I help you today?' }
    const owner = await stack.owner({ trunk: { port: sipp.port }, project })
    const call = await owner.place(CALLEE)
    await tap.wait(() => tap.packets({ from: sipp.mediaPort }).filter(isLoud).length >= 60, 'four noises')
    const { name } = await stack.engineOf(call.id)
    await finished(owner, call, sipp)
    const { left, right } = await fetched(owner, call)
    const detail = await owner.detail(call.id)
    expect(left.length / 8 / 1000).toBeCloseTo(detail.duration_seconds!, -0.5)

    const answeredMs = Date.parse(detail.answered_at!)
    const caller = onTheWire(tap.packets({ from: sipp.mediaPort }))
    const agent = onTheWire(tap.packets({ to: sipp.mediaPort }))
    const inLeft = findIn(left, caller.pcm)
    const inRight = findIn(right, agent.pcm)
    expect(inLeft.fit).toBeGreaterThan(0.85)
    expect(inRight.fit).toBeGreaterThan(0.85)
    const callerLate = inLeft.ms - (caller.usualMs - answeredMs)
    const agentLate = inRight.ms - (agent.fromMs - answeredMs)
    // A machine that is busy takes and sends packets late: the agent's say by how much, and that is not the recording's.
    const busy = agent.usualMs - agent.fromMs
    console.log(
      `recording against the wire: caller ${callerLate.toFixed(1)} ms late, agent ${agentLate.toFixed(1)} ms; machine ${busy.toFixed(1)} ms`,
    )
    expect(Math.abs(callerLate)).toBeLessThanOrEqual(20 + busy)
    expect(Math.abs(agentLate)).toBeLessThanOrEqual(20)
    expect(Math.abs(callerLate - agentLate)).toBeLessThanOrEqual(20 + busy)
    const part = await owner.fetch(`/calls/${call.id}/recording`, { range: 'bytes=0-3' })
    expect([part.status, await part.text()]).toEqual([206, 'RIFF'])
    expect(readdirSync(join(stack.folder, 'spool', name))).toEqual([])
  })

  it('survives its engine: the next one stores what was written', { timeout: 240_000 }, async () => {
    const sipp = await noisy(stack, 'killed')
    const owner = await stack.owner({ trunk: { port: sipp.port }, project: { recording: true, greeting: 'Hello.' } })
    const call = await owner.place(CALLEE)
    await tap.wait(() => tap.packets({ from: sipp.mediaPort }).filter(isLoud).length >= 60, 'four noises')
    process.kill((await stack.engineOf(call.id)).child.pid, 'SIGKILL')
    await call.ended(60_000)
    expect(await owner.detail(call.id)).toMatchObject({ status: 'failed', ended_reason: 'engine_lost' })
    await until(async () => (await owner.detail(call.id)).recording_url, 'the recording', 30_000)
    const { left } = await fetched(owner, call)
    const wire = onTheWire(tap.packets({ from: sipp.mediaPort }))
    const { ms, fit } = findIn(left, wire.pcm)
    // The last seconds are lost.
    expect(fit).toBeGreaterThan(0.5)
    const answeredMs = Date.parse((await owner.detail(call.id)).answered_at!)
    // Its answer is known by the event then, which is made a moment later.
    expect(Math.abs(ms - (wire.usualMs - answeredMs))).toBeLessThan(500)
    expect(left.length / RATE).toBeGreaterThan(6)
    await sipp.stop()
  })
})

it('a call of a project that does not is not kept', { timeout: 180_000 }, async () => {
  const sipp = await noisy(stack, 'unkept')
  const owner = await stack.owner({ trunk: { port: sipp.port }, project: { greeting: 'Hello.' } })
  const call = await owner.place(CALLEE)
  await call.agentSaid(1)
  await finished(owner, call, sipp)
  expect((await owner.detail(call.id)).recording_url).toBeNull()
  expect((await owner.fetch(`/calls/${call.id}/recording`)).status).toBe(404)
  expect(existsSync(join(stack.folder, 'blobs', 'recordings', owner.id))).toBe(false)
})

it('a spool that cannot be written costs the recording, not the call', { timeout: 180_000 }, async () => {
  const inTheWay = join(stack.folder, 'in-the-way')
  writeFileSync(inTheWay, '')
  const other = await startStack({ SPOOL_DIR: inTheWay })
  try {
    const sipp = await noisy(other, 'unwritable')
    const project = { recording: true, greeting: 'Hello, what can I do for you?' }
    const owner = await other.owner({ trunk: { port: sipp.port }, project })
    const call = await owner.place(CALLEE)
    await call.agentSaid(1)
    await finished(owner, call, sipp)
    const detail = await owner.detail(call.id)
    expect(detail).toMatchObject({ status: 'completed', ended_reason: 'api_hangup', recording_url: null })
    expect(detail.transcript[0]!.heard_text).toBe('Hello, what can I do for you?')
    expect(other.logged('engine').map(line => line['msg'])).toContain('recording failed')
  } finally {
    await other.stop()
  }
})
