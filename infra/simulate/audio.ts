/** Runs scenarios over real SIP and RTP against an installation, through its public API only. */
import { randomInt } from 'node:crypto'
import { dirname } from 'node:path'
import { fillVars } from '../../control/telephony/call-setup/plan.ts'
import type { CallEvent, EndedReason, ToolCall, Turn } from '../../media/contract/messages.ts'
import { playCaller } from './caller.ts'
import type { SimulationResult } from './judge.ts'
import { type Measured, measure, type Timeline } from './measure.ts'
import { createSimulatedNetwork } from './network.ts'
import { CallRefused, call, type Phone } from './phone.ts'
import { type CallerStep, type Scenario, ScenarioError, settingsOf } from './scenario.ts'
import type { CallTools, ToolServer } from './tool-server.ts'
import type { Voices } from './voice.ts'

export interface Installation {
  baseUrl: string
  key: string
  sip: { host: string; port: number }
}

export interface AudioOptions {
  installation: Installation
  tools: ToolServer
  voices: Voices
  /** Our address as the installation sees it; 127.0.0.1 by default. */
  host?: string
  /** Concurrent calls; 1 by default. */
  lanes?: number
}

export interface AudioOutcome extends SimulationResult {
  outside: Measured
  /** Voice-to-voice latencies in the call record, in ms. */
  recordMs: number[]
}

export interface AudioRunner {
  run(file: string, scenario: Scenario): Promise<AudioOutcome>
  /** Deletes everything it created. */
  close(): Promise<void>
}

interface Lane {
  projectId: string
  number: string
}

/** Milliseconds until every engine knows the new trunk; until then calls are refused. */
const TRUNK_KNOWN_MS = 10_000
const RECORD_MS = 30_000
const POLL_MS = 200

export async function openAudio(options: AudioOptions): Promise<AudioRunner> {
  const { host = '127.0.0.1' } = options
  const rest = createRest(options.installation)
  const base = randomInt(90) * 100
  const count = options.lanes ?? 1
  const numbers = Array.from({ length: count }, (_, i) => `+1202555${String(base + i).padStart(4, '0')}`)
  const trunk = { name: 'simulate', mode: 'ip', host, allowed_ips: [host], numbers, codecs: ['PCMU', 'PCMA'] }
  const { id: trunkId } = await rest('POST', '/trunks', trunk)
  const free: Lane[] = []
  for (const number of numbers) {
    const { id } = await rest('POST', '/projects', { name: 'simulate', language: 'en' })
    await rest('POST', `/projects/${id}/numbers`, { number, direction: 'in' })
    free.push({ projectId: id, number })
  }
  const all = [...free]
  return {
    async run(file, scenario) {
      const lane = free.pop()
      if (!lane) throw new Error('More concurrent calls than lanes')
      try {
        return await runOne({ ...options, host }, rest, lane, file, scenario)
      } finally {
        free.push(lane)
      }
    },
    async close() {
      for (const { projectId } of all) await rest('DELETE', `/projects/${projectId}`).catch(() => {})
      await rest('DELETE', `/trunks/${trunkId}`).catch(() => {})
    },
  }
}

async function runOne(
  { installation, tools, voices, host }: AudioOptions & { host: string },
  rest: Rest,
  { projectId, number }: Lane,
  file: string,
  scenario: Scenario,
): Promise<AudioOutcome> {
  const { caller: steps, line, language } = scenario
  if (!Array.isArray(steps)) throw new ScenarioError(`${file}: a model-played caller requires text mode`)
  const sounds = new Map<CallerStep, Int16Array>()
  for (const step of steps) {
    const speech = 'barge_in' in step ? step.barge_in : 'say' in step ? step : null
    if (speech) sounds.set(step, await voices.sound(speech, language, dirname(file)))
  }
  const place = tools.place(scenario.tools)
  await rest('PATCH', `/projects/${projectId}`, projectOf(scenario, place))
  const from = `+1415555${String(randomInt(10_000)).padStart(4, '0')}`
  const phone = await callWhenKnown(() => {
    const channel = createSimulatedNetwork(line, seedOf(scenario.name))
    return call({ sip: installation.sip, host, from, to: number, codec: line.codec, line: channel })
  })
  try {
    const said = await playCaller({ phone, steps, sounds, tools: place })
    await phone.hangUp()
    const { detail, events } = await recordOf(rest, projectId, from)
    const interruptedMs = detail.transcript
      .filter(({ role, interrupted }) => role === 'agent' && interrupted)
      .map(({ ended_ms }) => phone.answered.atMs + ended_ms)
    const bargeIns = events.filter(({ type }) => type === 'barge_in').length
    return { ...outcomeOf(detail, { said, heard: phone.heard, interruptedMs }), bargeIns }
  } finally {
    phone.close()
    place.leave()
  }
}

/** The date of a call made now, in the agent's time zone. */
export const todayOf = (scenario: Scenario) =>
  new Date().toLocaleDateString('sv-SE', { timeZone: settingsOf(scenario).timezone })

const seedOf = (name: string) => [...name].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) >>> 0, 7)

function projectOf(scenario: Scenario, place: CallTools): object {
  const settings = settingsOf(scenario)
  const fill = (text: string | null) => (text === null ? null : fillVars(text, scenario.vars))
  return {
    ...settings,
    language: scenario.language,
    // An inbound call has neither vars nor a task of its own.
    prompt: [settings.prompt, scenario.task].map(fill).filter(Boolean).join('\n\n'),
    greeting: fill(settings.greeting),
    disclosure: fill(settings.disclosure),
    goal: fill(settings.goal),
    tools: settings.tools.map(place.here),
  }
}

type Captured = Pick<Timeline, 'said' | 'heard' | 'interruptedMs'>

function outcomeOf(detail: Detail, heard: Captured): Omit<AudioOutcome, 'bargeIns'> {
  const understood = detail.transcript.filter(({ role }) => role === 'caller').map(({ text }) => text)
  const ended = detail.ended_reason !== 'caller_hangup'
  return {
    turns: detail.transcript,
    tools: detail.tool_calls,
    ended: detail.ended_reason,
    p95Ms: detail.latency.p95_ms,
    goalReached: detail.goal_reached ?? false,
    extracted: detail.extracted,
    recordMs: detail.latency.turns.map(turn => turn.total_ms),
    outside: measure({ ...heard, understood: understood.join(' '), ended }),
  }
}

async function callWhenKnown(place: () => Promise<Phone>): Promise<Phone> {
  const untilMs = Date.now() + TRUNK_KNOWN_MS
  for (;;) {
    try {
      return await place()
    } catch (error) {
      const early = error instanceof CallRefused && [403, 404, 408].includes(error.status)
      if (!early || Date.now() > untilMs) throw error
      await new Promise(resolve => setTimeout(resolve, POLL_MS))
    }
  }
}

// The public API.

interface Detail {
  id: string
  ended_reason: EndedReason
  goal_reached: boolean | null
  extracted: Record<string, unknown> | null
  transcript: Turn[]
  tool_calls: ToolCall[]
  latency: { p95_ms: number | null; turns: { total_ms: number }[] }
}

// biome-ignore lint/suspicious/noExplicitAny: each caller knows the shape it asked for
type Rest = (method: string, path: string, body?: unknown) => Promise<any>

function createRest({ baseUrl, key }: Installation): Rest {
  return async (method, path, body) => {
    const response = await fetch(`${baseUrl.replace(/\/$/, '')}/v1/public${path}`, {
      method,
      headers: { 'x-api-key': key, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(RECORD_MS),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text.slice(0, 500)}`)
    return response.headers.get('content-type')?.includes('json') ? JSON.parse(text) : text
  }
}

async function recordOf(rest: Rest, projectId: string, from: string): Promise<{ detail: Detail; events: CallEvent[] }> {
  const untilMs = Date.now() + RECORD_MS
  for (;;) {
    const { items } = await rest('GET', `/calls?project_id=${projectId}&direction=in&limit=5`)
    const found = items.find((one: { from: string; ended_at: string | null }) => one.from === from)
    if (found?.ended_at) {
      const [detail, stream] = await Promise.all([
        rest('GET', `/calls/${found.id}`),
        rest('GET', `/calls/${found.id}/events`),
      ])
      return { detail, events: eventsOf(stream) }
    }
    if (Date.now() > untilMs) throw new Error('The call record did not appear in time')
    await new Promise(resolve => setTimeout(resolve, POLL_MS))
  }
}

/** Parses server-sent events (WHATWG HTML §9.2). */
function eventsOf(stream: string): CallEvent[] {
  return stream.split('\n\n').flatMap(block => {
    const field = (name: string) => new RegExp(`^${name}: ?(.*)$`, 'm').exec(block)?.[1]
    const type = field('event')
    return type ? [{ type, ...JSON.parse(field('data') ?? '{}') } as CallEvent] : []
  })
}
