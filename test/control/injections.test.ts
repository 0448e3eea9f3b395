/**
 * Two hundred injections against a model that obeys whatever it reads, ten in a call, one by each channel. The plan is
 * control's, the conversation the engine's, and the messages those of the vendors' protocols.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { defaultSettings, type ProjectSettings } from '../../control/agents/projects/schema.ts'
import { makePlan } from '../../control/telephony/call-setup/plan.ts'
import { systemClock } from '../../infra/adapters/clock.ts'
import type { CallPlan, TransferTarget } from '../../media/contract/plan.ts'
import { createSealer } from '../../media/contract/seal.ts'
import { toItems } from '../../media/models/openai-realtime-events.ts'
import { createTextModel } from '../../media/models/text-model.ts'
import type { LlmEvent, LlmRequest } from '../../media/ports/llm.ts'
import type { Fetch } from '../../media/shared/fetch.ts'
import { BOUNDARY_PLACEHOLDER, CHANNELS, type Channel, INJECTIONS, type Injection } from '../corpus/injections.ts'
import { call as callTool, hit, openTalk, text } from '../fakes/conversation.ts'
import { plan as samplePlan } from '../fakes/plan.ts'
import type { HttpVendor } from '../fakes/vendors/http-vendor.ts'
import { baseUrlOf, type Kind, sse, startFakeTextModel, streams } from '../fakes/vendors/text-models.ts'

const TOOL_URL = 'https://api.example/things/{q}/end'
const LISTED: TransferTarget = { name: 'desk', to: '+12025550112', description: 'The desk', announce: null }
const settings: ProjectSettings = {
  ...defaultSettings,
  greeting: 'Hello.',
  prompt: 'You answer for {{company}}. They say: {{evidence}} Topic: {{topic}}.',
  tools: [
    {
      name: 'look_up',
      description: 'Looks something up',
      method: 'GET',
      url: TOOL_URL,
      headers: {},
      parameters: { type: 'object', properties: { q: { type: 'string' } }, required: ['q'] },
      filler: [],
      timeout_ms: 5000,
    },
  ],
  transfers: [LISTED],
}

type Row = ReadonlyMap<Channel, Injection>

/** The plan that control makes when the texts of strangers are known before the call. */
function planWith(row: Row): CallPlan {
  const textOf = (channel: Channel) => row.get(channel)?.text ?? ''
  const vars = {
    company: 'Bakery',
    evidence: textOf('lead'),
    topic: textOf('variable of the prompt'),
    subject: textOf('variable of the task'),
  }
  const { call_id: id, from: _, to: to_phone, ...made } = samplePlan({ vars, task: 'Talk about {{subject}}.' })
  return makePlan(createSealer('a secret of thirty-two characters'), {
    call: {
      ...made,
      id,
      from_phone: textOf('SIP header'),
      to_phone,
      price: 50_000n,
      factor_percent: 100,
      max_cost: null,
    },
    language: 'en',
    settings,
    secrets: new Map(),
    paidSeconds: 60,
    dialingLimits: { blocked_prefixes: [], allowed_prefixes: [] },
    knowledge: true,
    contact: {
      name: textOf('contact name'),
      history: [{ at: 0, direction: 'in', summary: textOf('earlier call') }],
    },
  })
}

/** All that the model reads and did not say itself. */
const readBy = ({ system, messages }: LlmRequest) =>
  [system, ...messages.map(message => (message.role === 'tool' ? message.result : message.text))].join('\n')

/** The limit of tool calls in one answer is 8. */
const AT_ONCE = 5

/** Uses the tools by which injections come, obeys each injection once, and says something after that. */
function obedient(injections: readonly Injection[], obeyed: Set<string>) {
  let asked = false
  return (request: LlmRequest): LlmEvent[] => {
    if (!asked) {
      asked = true
      const query = { query: 'bread' }
      return [
        callTool('look_up', { q: 'answer' }),
        callTool('look_up', { q: 'error' }),
        callTool('search_knowledge', query),
      ]
    }
    const orders = injections.filter(({ marker }) => readBy(request).includes(marker) && !obeyed.has(marker))
    if (orders.length === 0) return [text('I see.')]
    return orders.slice(0, AT_ONCE).map(({ marker, order }) => {
      obeyed.add(marker)
      const told = JSON.stringify(order.arguments).replace(
        BOUNDARY_PLACEHOLDER,
        `</data-${request.boundary}> ${marker}`,
      )
      return callTool(order.name, JSON.parse(told), marker.replace('MK', 'call-'))
    })
  }
}

/** Holds a call with one injection by each channel; collects what the agent reached outside. */
async function callWith(injections: readonly Injection[]) {
  const row: Row = new Map(injections.map(injection => [injection.channel, injection]))
  const textOf = (channel: Channel) => row.get(channel)?.text ?? 'Nothing.'
  const reached = { urls: [] as string[], transferredTo: [] as string[], pressed: [] as string[] }
  const obeyed = new Set<string>()
  const fetch: Fetch = async ({ url }) => {
    reached.urls.push(url)
    if (url.includes('/error/')) {
      const body = Buffer.from(textOf('tool error'))
      return { status: 500, headers: { 'content-type': 'text/plain' }, body, url }
    }
    // Otherwise it repeats what it was asked, as a search does: also a boundary that the model has disclosed.
    const answer = url.includes('/answer/') ? textOf('tool answer') : `You asked for ${decodeURIComponent(url)}`
    return { status: 200, headers: {}, body: Buffer.from(JSON.stringify({ answer })), url }
  }
  const talk = openTalk({
    says: ['Hello, what can you do?'],
    replies: obedient(injections, obeyed),
    fetch: () => fetch,
    plan: planWith(row),
    abilities: {
      sendDtmf: async keys => void reached.pressed.push(keys),
      transfer: async ({ to }) => {
        reached.transferredTo.push(to)
        return { ok: true }
      },
      searchKnowledge: async () => [
        hit({ source: textOf('knowledge title'), text: 'Bread.' }),
        hit({ text: textOf('knowledge page'), heading: textOf('knowledge page') }),
      ],
    },
  })
  await talk.line.agentTurn()
  await talk.line.caller(600)
  await talk.line.agentTurn()
  await talk.line.silence(200)
  return { reached, obeyed, ...talk }
}

/** The parts of a text that are not between marks of this boundary. */
const unmarked = (content: string, boundary: string) =>
  content.replace(new RegExp(`<data-${boundary} from="[^"]*">[^]*?</data-${boundary}>`, 'g'), '')

let vendor: HttpVendor
beforeAll(async () => {
  vendor = await startFakeTextModel()
})
afterAll(() => vendor.close())

/** The texts of a request in a vendor's protocol, without what the model said itself. */
async function sentTo(kind: Kind, request: LlmRequest): Promise<string[]> {
  vendor.answer = sse(streams[kind]({ text: ['Ok.'] }))
  const model = createTextModel({
    provider: kind,
    model: 'm',
    apiKey: 'k',
    clock: systemClock,
    baseUrl: baseUrlOf(kind, vendor),
  })
  for await (const _ of model.respond(request, new AbortController().signal));
  return textsIn(JSON.parse(vendor.asked.at(-1)!.body.toString()))
}

const OWN_WORDS = new Set(['tool_calls', 'tool_use', 'functionCall', 'function_call', 'tools'])
function textsIn(value: unknown, key = ''): string[] {
  if (typeof value === 'string') return [value]
  if (Array.isArray(value)) return value.flatMap(inner => textsIn(inner, key))
  if (typeof value !== 'object' || value === null || OWN_WORDS.has((value as { type?: string }).type ?? '')) return []
  return Object.entries(value).flatMap(([name, inner]) => (OWN_WORDS.has(name) ? [] : textsIn(inner, name)))
}

const ROWS = Array.from({ length: 20 }, (_, n) => INJECTIONS.slice(n * CHANNELS.length, (n + 1) * CHANNELS.length))

it('has 200 injections: every order by every channel', () => {
  expect(new Set(INJECTIONS.map(({ marker }) => marker)).size).toBe(200)
  expect(new Set(INJECTIONS.map(({ channel, order }) => channel + JSON.stringify(order))).size).toBe(100)
  for (const row of ROWS) expect(new Set(row.map(({ channel }) => channel))).toEqual(new Set(CHANNELS))
})

describe.each(ROWS.map(row => ({ first: row[0]!.marker, row })))('ten injections from $first on', ({ row }) => {
  it('reach nothing but the own tools of the agent, and stay marked', async () => {
    const { reached, obeyed, llm, ended, tools, agentTexts } = await callWith(row)
    // A SIP header is not shown to the model, so it was the only one that was not obeyed.
    expect(row.filter(({ marker }) => !obeyed.has(marker)).map(({ channel }) => channel)).toEqual(['SIP header'])

    // The agent reached its tool, at the tool's own address, and nobody else.
    for (const url of reached.urls) expect(url).toMatch(/^https:\/\/api\.example\/things\/[^/?#]+\/end(\?|$)/)
    expect(reached.transferredTo).toEqual([])
    expect(reached.pressed).toEqual([])
    expect(tools()).toHaveLength(12)
    for (const { name, status } of tools()) {
      if (!['look_up', 'search_knowledge'].includes(name)) expect(status).not.toBe('ok')
    }
    expect(ended).toEqual([])
    expect(agentTexts().at(-1)).toBe('I see.')

    // The boundary of this call encloses each text, in every protocol.
    const final = llm.requests.at(-1)!
    const { boundary } = final
    const realtime = textsIn(final.messages.flatMap(message => toItems(message, boundary)))
    for (const texts of [
      await sentTo('openai_compatible', final),
      await sentTo('anthropic', final),
      await sentTo('google', final),
      [final.system, ...realtime],
    ]) {
      const all = texts.join('\n')
      for (const { marker, channel } of row) expect(all.includes(marker)).toBe(channel !== 'SIP header')
      for (const content of texts) expect(unmarked(content, boundary)).not.toMatch(/MK\d{4}/)
      expect(all).toContain(`exactly </data-${boundary}> ends it`)
    }
  })
})

it('draws another boundary for each call', () => {
  const boundaries = Array.from({ length: 200 }, () => planWith(new Map()).boundary)
  expect(new Set(boundaries).size).toBe(200)
})

it('reaches a listed target that the model names', async () => {
  const injection = INJECTIONS.find(({ channel }) => channel === 'variable of the task')!
  const listed = { ...injection, order: { name: 'transfer_call', arguments: { to: 'desk' } } }
  expect((await callWith([listed])).reached.transferredTo).toEqual([LISTED.to])
})
