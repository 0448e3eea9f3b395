/** A conversation over a simulated line, with scripted STT, TTS and language model. */

import { Conversation } from '../../media/agent/conversation.ts'
import type { Abilities } from '../../media/agent/own-tools.ts'
import type { CallEventBody, EndedReason } from '../../media/contract/messages.ts'
import type { CallPlan, ToolPlan } from '../../media/contract/plan.ts'
import { createEnergyVad } from '../../media/models/energy-vad.ts'
import type { KnowledgeHit } from '../../media/ports/knowledge.ts'
import type { DisplayUpdate } from '../../media/ports/leg.ts'
import type { LlmEvent, LlmRequest } from '../../media/ports/llm.ts'
import type { Stt, Tts } from '../../media/ports/speech.ts'
import { type Fetch, FetchError } from '../../media/shared/fetch.ts'
import { quietLog } from '../support/world.ts'
import { type FakeClock, FakeLine, fakeClock } from './line.ts'
import { plan } from './plan.ts'
import { fakeLlm, fakeStt, fakeTts } from './speech.ts'

export interface FakeTalk {
  /** The caller's utterances, in order. */
  says?: string[]
  replies?: (request: LlmRequest) => LlmEvent[] | Promise<LlmEvent[]>
  fetch?: (clock: FakeClock) => Fetch
  plan?: Partial<CallPlan>
  abilities?: Abilities
  stt?: Stt
  tts?: Tts
  show?: (shown: DisplayUpdate) => void
}

export function openTalk(options: FakeTalk) {
  const { says = [], replies = () => [text('I see.')], fetch, plan: changes = {}, abilities = {} } = options
  const clock = fakeClock()
  const events: CallEventBody[] = []
  const ended: EndedReason[] = []
  const tts = fakeTts()
  const llm = fakeLlm(replies)
  const conversation = new Conversation({
    plan: plan({ greeting: 'Hi there.', ...changes }),
    secrets: { tool_headers: {}, llm_api_key: null, vendor_keys: {} },
    sampleRate: 8000,
    clock,
    log: quietLog,
    vad: createEnergyVad(),
    stt: options.stt ?? fakeStt(says),
    tts: options.tts ?? tts,
    llm,
    fetch: fetch?.(clock) ?? (() => Promise.reject(new FetchError('network', 'no network in this test'))),
    abilities,
    emit: event => events.push(event),
    onHangup: reason => ended.push(reason),
    ...(options.show ? { show: options.show } : {}),
  })
  const line = new FakeLine(conversation, clock)
  conversation.start()
  const turns = () => conversation.transcript.turns
  return {
    clock,
    conversation,
    line,
    events,
    ended,
    tts,
    llm,
    turns,
    agentTexts: () =>
      turns()
        .filter(turn => turn.role === 'agent')
        .map(turn => turn.heard_text),
    tools: () => conversation.transcript.toolCalls,
  }
}

export const text = (delta: string): LlmEvent => ({ type: 'text', delta })
export const call = (name: string, args: Record<string, unknown> = {}, id = name): LlmEvent => ({
  type: 'tool',
  id,
  name,
  arguments: args,
})

/** A search result. */
export const hit = (changes: Partial<KnowledgeHit> & Pick<KnowledgeHit, 'text'>): KnowledgeHit => ({
  chunk_id: '0195f2c4-7a10-7c3e-9b1d-000000000001',
  source_id: '0195f2c4-7a10-7c3e-9b1d-000000000002',
  source: 'faq.md',
  heading: '',
  ...changes,
})
export const toolPlan = (changes: Partial<ToolPlan> = {}): ToolPlan => ({
  name: 'look_up',
  description: 'Look something up',
  method: 'GET',
  url: 'https://api.example/things',
  parameters: { type: 'object', properties: {} },
  filler: [],
  timeout_ms: 30_000,
  ...changes,
})

/** Answers tools by the last part of the path, after a delay in ms of the simulated clock; `asked` counts requests. */
export const answering =
  (answers: Record<string, { ms: number; body?: string }>, asked: string[] = []) =>
  (clock: FakeClock): Fetch =>
  request =>
    new Promise((resolve, reject) => {
      const name = new URL(request.url).pathname.split('/').at(-1)!
      const { ms, body = `{"from":"${name}"}` } = answers[name]!
      asked.push(name)
      const give = () =>
        resolve({
          status: 200,
          headers: { 'content-type': 'application/json' },
          body: Buffer.from(body),
          url: request.url,
        })
      clock.after(ms, give)
      request.signal.addEventListener('abort', () => reject(new FetchError('aborted', 'aborted')))
    })
