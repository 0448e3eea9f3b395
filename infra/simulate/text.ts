/** Runs a scenario in text mode: without audio, and without network except for models, much faster than real time. */
import { randomUUID } from 'node:crypto'
import { toolPlan } from '../../control/agents/projects/tool-plan.ts'
import { fillMarked, fillVars } from '../../control/telephony/call-setup/plan.ts'
import type { Turn } from '../../media/contract/messages.ts'
import { CallPlan } from '../../media/contract/plan.ts'
import { createScripted } from '../../media/models/scripted/scripted.ts'
import { createTextModel } from '../../media/models/text-model.ts'
import type { ChatMessage, Llm } from '../../media/ports/llm.ts'
import type { Fetch } from '../../media/shared/fetch.ts'
import type { Log } from '../../media/shared/log.ts'
import { newBoundary } from '../../media/shared/untrusted.ts'
import { systemClock } from '../adapters/clock.ts'
import type { SimulationResult } from './judge.ts'
import { type Scenario, ScenarioError, settingsOf } from './scenario.ts'
import { VirtualCall } from './virtual-call.ts'

export interface TextOptions {
  fetch: Fetch
  log: Log
  env: NodeJS.ProcessEnv
}

/** Milliseconds after the caller's last step in which the agent may still say goodbye. */
const LAST_WORDS_MS = 15_000

export async function runText(scenario: Scenario, { fetch, log, env }: TextOptions): Promise<SimulationResult> {
  const plan = planOf(scenario)
  const call = new VirtualCall({
    plan,
    llm: llmOf(scenario, plan, env),
    fetch,
    answers: scenario.tools,
    log,
    wallMs: Date.parse(`${scenario.today}T12:00:00Z`),
  })
  if (Array.isArray(scenario.caller)) await playSteps(call, scenario.caller)
  else await playPersona(call, scenario, scenario.caller, env)
  for (let waited = 0; waited < LAST_WORDS_MS && !call.ended; waited += 500) await call.pass(500)
  const { turns, tools, ended, latency, record, events } = await call.outcome()
  return {
    turns,
    tools,
    ended,
    p95Ms: latency.p95_ms,
    goalReached: record?.goalReached ?? false,
    extracted: record?.extracted ?? null,
    bargeIns: events.filter(event => event.type === 'barge_in').length,
  }
}

async function playSteps(call: VirtualCall, steps: Extract<Scenario['caller'], unknown[]>): Promise<void> {
  for (const step of steps) {
    if (call.ended) return
    if ('say' in step) await call.say(withoutPauses(step.say))
    else if ('barge_in' in step) await call.bargeIn(step.barge_in.after_ms, withoutPauses(step.barge_in.say))
    else if ('press' in step) await call.press(step.press)
    else if ('silence_ms' in step) await call.pass(step.silence_ms)
    else call.hangUp()
  }
}

const withoutPauses = (text: string) => text.replaceAll('…', ' ')

const CALLER_RULES =
  'You play the person on the telephone described below; the other side is an automatic agent. Answer with what this person ' +
  'says next and nothing else, in one or two spoken sentences. When the person would hang up, use end_call.'

async function playPersona(
  call: VirtualCall,
  { language }: Scenario,
  caller: Exclude<Scenario['caller'], unknown[]>,
  env: NodeJS.ProcessEnv,
): Promise<void> {
  const { base_url: baseUrl, model, api_key_env } = caller.model
  const apiKey = api_key_env === null ? null : (env[api_key_env] ?? null)
  const llm = createTextModel({ provider: 'openai_compatible', clock: systemClock, baseUrl, model, apiKey })
  const end = { name: 'end_call', description: 'Hang up.', parameters: { type: 'object', properties: {} } }
  for (let turn = 0; turn < caller.max_turns && !call.ended; turn++) {
    await call.agentSilent()
    let said = ''
    let over = false
    const request = {
      system: `${CALLER_RULES}\n\n${caller.persona}`,
      boundary: newBoundary(),
      language,
      messages: otherSide(call.conversation.transcript.turns),
      tools: [end],
      today: new Date(),
    }
    for await (const event of llm.respond(request, AbortSignal.timeout(60_000))) {
      if (event.type === 'text') said += event.delta
      else over = true
    }
    if (said.trim() !== '') await call.say(said.trim())
    if (over) call.hangUp()
  }
}

/** The transcript from the caller's point of view, with the roles swapped. */
const otherSide = (turns: readonly Turn[]): ChatMessage[] =>
  turns.flatMap((turn): ChatMessage[] => {
    if (turn.role === 'agent') return [{ role: 'caller', text: turn.heard_text }]
    return turn.role === 'caller' ? [{ role: 'agent', text: turn.text, interrupted: false }] : []
  })

export function planOf(scenario: Scenario): CallPlan {
  const settings = settingsOf(scenario)
  const { vars } = scenario
  const boundary = newBoundary()
  const fill = (text: string | null) => (text === null ? null : fillVars(text, vars))
  const forModel = (text: string) => fillMarked(text, vars, boundary)
  const [call_id, owner_id, project_id] = [randomUUID(), randomUUID(), randomUUID()]
  return CallPlan.parse({
    v: 1,
    call_id,
    owner_id,
    project_id,
    direction: 'in',
    from: '+12025550101',
    to: '+12025550100',
    trunk_id: null,
    ring_timeout_ms: 45_000,
    max_call_ms: settings.max_call_seconds * 1000,
    paid_ms: 3_600_000,
    language: scenario.language,
    voice: settings.voice,
    llm: { provider: 'scripted' },
    disclosure: fill(settings.disclosure),
    greeting: fill(settings.greeting),
    boundary,
    prompt: forModel(settings.prompt),
    task: scenario.task === null ? null : forModel(scenario.task),
    vars,
    tools: settings.tools.map(toolPlan),
    timezone: settings.timezone,
    goal: settings.goal === null ? null : forModel(settings.goal),
    extraction: settings.extraction,
    voicemail: { action: 'ignore' },
    recording: false,
    sealed: null,
    traceparent: null,
  })
}

function llmOf(scenario: Scenario, plan: CallPlan, env: NodeJS.ProcessEnv): Llm {
  const { llm } = settingsOf(scenario)
  const secret = (name: string | null) => (name === null ? null : (env[name] ?? null))
  switch (llm.provider) {
    case 'scripted':
      return createScripted({ confirms: name => plan.tools.find(tool => tool.name === name)?.method === 'POST' })
    case 'openai_compatible': {
      const { base_url: baseUrl, model, api_key_secret } = llm
      return createTextModel({
        provider: llm.provider,
        clock: systemClock,
        baseUrl,
        model,
        apiKey: secret(api_key_secret),
      })
    }
    case 'anthropic':
    case 'google':
      return createTextModel({
        provider: llm.provider,
        clock: systemClock,
        model: llm.model,
        apiKey: secret(llm.api_key_secret) ?? '',
      })
    case 'openai_realtime':
      throw new ScenarioError(`${scenario.name}: speech-to-speech models cannot be simulated in text mode`)
  }
}
