/**
 * Provider fallback in a conversation with simulated time: what the caller hears when providers fail. The providers are
 * local servers that speak their protocols; only the leg, the offline models and the clock are fakes.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../infra/adapters/clock.ts'
import { createProviders, type Providers, type ProvidersOptions } from '../../infra/models/providers.ts'
import { Conversation } from '../../media/agent/conversation.ts'
import { phrasesFor } from '../../media/agent/phrases.ts'
import type { CallEventBody, EndedReason, ProviderSwitch } from '../../media/contract/messages.ts'
import type { CallPlan, PlanSecrets } from '../../media/contract/plan.ts'
import { createEnergyVad } from '../../media/models/energy-vad.ts'
import { fallbackLlm } from '../../media/models/fallback.ts'
import type { Llm, LlmRequest } from '../../media/ports/llm.ts'
import { fakeClock, settle } from '../fakes/line.ts'
import { plan } from '../fakes/plan.ts'
import { fakeStt, fakeTts } from '../fakes/speech.ts'
import { type FakeCartesia, startFakeCartesia } from '../fakes/vendors/cartesia.ts'
import { type FakeDeepgram, startFakeDeepgram } from '../fakes/vendors/deepgram.ts'
import { type FakeElevenLabs, startFakeElevenLabs } from '../fakes/vendors/elevenlabs.ts'
import type { HttpVendor } from '../fakes/vendors/http-vendor.ts'
import {
  anthropicStream,
  baseUrlOf,
  googleStream,
  refusal,
  sse,
  startFakeTextModel,
} from '../fakes/vendors/text-models.ts'
import { quietLog } from '../support/world.ts'

interface Vendors {
  deepgram: FakeDeepgram
  yandex: HttpVendor
  elevenlabs: FakeElevenLabs
  cartesia: FakeCartesia
  anthropic: HttpVendor
  google: HttpVendor
}
let vendors: Vendors
beforeEach(async () => {
  const [deepgram, elevenlabs, cartesia] = await Promise.all([
    startFakeDeepgram(),
    startFakeElevenLabs(),
    startFakeCartesia(),
  ])
  const [yandex, anthropic, google] = await Promise.all([1, 2, 3].map(() => startFakeTextModel()))
  vendors = { deepgram, elevenlabs, cartesia, yandex: yandex!, anthropic: anthropic!, google: google! }
  yandex!.answer = { headers: { 'content-type': 'application/json' }, parts: ['{"result":"when do you open"}'] }
  anthropic!.answer = sse(anthropicStream({ text: ['We open ', 'at nine.'] }))
  google!.answer = sse(googleStream({ text: ['At nine ', 'in the morning.'] }))
})
afterEach(async () => {
  await Promise.all(Object.values(vendors).map(vendor => vendor.close()))
})

const KEYS = { DG: 'dg-key', YA: 'ya-key', EL: 'el-key', CA: 'ca-key', GO: 'go-key' }
const chosen: Partial<CallPlan> = {
  direction: 'in',
  greeting: 'Hello.',
  llm: { provider: 'anthropic', model: 'claude-haiku-4-5' },
  llm_fallback: [{ llm: { provider: 'google', model: 'gemini-3-flash-preview' }, key: 'GO' }],
  stt: [
    { provider: 'deepgram', model: null, key: 'DG' },
    { provider: 'yandex_speechkit', key: 'YA' },
  ],
  tts: [
    { provider: 'elevenlabs', voice: 'rachel', model: null, key: 'EL' },
    { provider: 'cartesia', voice: 'katie', model: null, key: 'CA' },
  ],
}
const secretsOf = (changes: Partial<PlanSecrets> = {}): PlanSecrets => ({
  tool_headers: {},
  llm_api_key: 'an-key',
  vendor_keys: KEYS,
  ...changes,
})

function engine() {
  const clock = fakeClock()
  const tts = fakeTts()
  const logged: unknown[] = []
  const log = { ...quietLog, warn: (...args: unknown[]) => void logged.push(args) }
  const offline: ProvidersOptions['offline'] = { stt: fakeStt(['When do you open?', 'Thank you.']), tts }
  const config = {
    FETCH_ALLOW: [],
    ANTHROPIC_URL: baseUrlOf('anthropic', vendors.anthropic),
    GOOGLE_URL: baseUrlOf('google', vendors.google),
    DEEPGRAM_URL: vendors.deepgram.baseUrl,
    ELEVENLABS_URL: vendors.elevenlabs.baseUrl,
    CARTESIA_URL: vendors.cartesia.baseUrl,
    YANDEX_STT_URL: vendors.yandex.baseUrl,
  } as ProvidersOptions['config']
  return {
    clock,
    offline,
    tts,
    logged,
    providers: createProviders({ config, offline, clock, log: { ...log, child: () => log } }),
  }
}

interface TalkOptions {
  plan?: Partial<CallPlan>
  secrets?: Partial<PlanSecrets>
  on?: ReturnType<typeof engine>
  llm?: (providers: Providers, report: (change: ProviderSwitch) => void) => Llm
}

/** 20 ms of the call take 1 ms of ours, so that servers on the loopback are as near as in life. */
const PACE = 20

function talk(options: TalkOptions = {}) {
  const on = options.on ?? engine()
  const { clock, providers } = on
  const events: CallEventBody[] = []
  const ended: EndedReason[] = []
  const whole = plan({ ...chosen, ...options.plan })
  const secrets = secretsOf(options.secrets)
  const report = (change: ProviderSwitch) => void events.push({ type: 'provider.switched', ...change })
  const conversation = new Conversation({
    plan: whole,
    secrets,
    sampleRate: 8000,
    clock,
    log: quietLog,
    vad: createEnergyVad(),
    stt: providers.sttFor(whole, secrets, report),
    tts: providers.ttsFor(whole, secrets, report),
    llm: options.llm?.(providers, report) ?? providers.llmFor(whole, secrets, report),
    fetch: () => Promise.reject(new Error('none')),
    abilities: {},
    emit: event => void events.push(event),
    onHangup: reason => void ended.push(reason),
  })
  conversation.start()
  /** Loudness of the agent, frame by frame: 4000 is a vendor's voice, 6000 the offline one. */
  const loudness: number[] = []
  async function run(ms: number, level: number) {
    for (let done = 0; done < ms; done += 20) {
      clock.advance(20)
      // With a syllable's gap now and then; whole thousands are words to the fake recogniser.
      const pcm = new Int16Array(160).fill((done / 20) % 12 === 11 ? 0 : level)
      conversation.push({ pcm, atMs: clock.now(), concealed: false })
      const heard = conversation.pull(clock.now())
      loudness.push(heard ? Math.max(...heard.map(Math.abs)) : 0)
      await settle()
      await new Promise(resolve => setTimeout(resolve, 20 / PACE))
    }
  }
  const turns = () => conversation.transcript.turns
  const agent = () => turns().filter(({ role }) => role === 'agent')
  return {
    conversation,
    clock,
    events,
    ended,
    loudness,
    run,
    turns,
    agentTexts: () => agent().map(({ heard_text }) => heard_text),
    switches: () => events.filter(event => event.type === 'provider.switched').map(({ type: _, ...rest }) => rest),
    async says(ms = 700) {
      await run(ms, 3000)
    },
    /** Silence until the agent has said one thing more. */
    async answers(maxMs = 30_000) {
      const before = agent().length
      for (let ms = 0; ms < maxMs && agent().length === before && ended.length === 0; ms += 20) await run(20, 0)
      if (agent().length === before) throw new Error(`the agent said nothing in ${maxMs} ms`)
      await run(200, 0)
    },
  }
}
type Talk = ReturnType<typeof talk>

let open: Talk[] = []
const begin = async (options: TalkOptions = {}) => {
  const one = talk(options)
  open.push(one)
  await one.answers()
  return one
}
afterEach(() => {
  for (const one of open) one.conversation.stop()
  open = []
})

describe('a call with project providers', () => {
  it('uses the first of each, with its key', async () => {
    const one = await begin()
    await one.says()
    await one.answers()
    expect(one.agentTexts()).toEqual(['Hello.', 'We open at nine.'])
    expect(one.turns()[1]).toMatchObject({ role: 'caller', text: expect.stringContaining('w3') })
    expect(one.switches()).toEqual([])
    expect(Math.max(...one.loudness)).toBeLessThan(5000)
    const { deepgram, elevenlabs, anthropic } = vendors
    expect(deepgram.requests[0]!.headers.authorization).toBe('Token dg-key')
    expect(elevenlabs.requests[0]!.headers['xi-api-key']).toBe('el-key')
    expect(elevenlabs.requests[0]!.url).toContain('/rachel/')
    expect(anthropic.asked[0]!.request.headers['x-api-key']).toBe('an-key')
    expect([vendors.cartesia.requests, vendors.google.asked, vendors.yandex.asked].flat()).toEqual([])
  })

  it('falls back to the next providers in the same turn, and reports it once', async () => {
    const { deepgram, elevenlabs, anthropic, cartesia } = vendors
    deepgram.refuse = { status: 401 }
    elevenlabs.refuse = { status: 429, headers: { 'retry-after': '60' } }
    anthropic.answer = refusal('anthropic', 500, { 'retry-after': '600' })
    const on = engine()
    const one = await begin({ on })
    await one.says()
    await one.answers()
    expect(one.agentTexts()).toEqual(['Hello.', 'At nine in the morning.'])
    expect(one.turns()[1]).toMatchObject({ role: 'caller', text: 'when do you open' })
    const expected = [
      { kind: 'tts', from: 'elevenlabs', to: 'cartesia', code: 'rate_limited' },
      { kind: 'stt', from: 'deepgram', to: 'yandex_speechkit', code: 'unauthorized' },
      {
        kind: 'llm',
        from: 'anthropic/claude-haiku-4-5',
        to: 'google/gemini-3-flash-preview',
        code: 'unavailable',
      },
    ]
    expect(one.switches()).toEqual(expected)
    expect(cartesia.asked.every(({ voice }) => (voice as { id: string }).id === 'katie')).toBe(true)

    // The next turn, and the next call of this engine, begin with those that work.
    const asked = [elevenlabs.requests.length, anthropic.asked.length, deepgram.requests.length]
    await one.says()
    await one.answers()
    const other = await begin({ on })
    await other.says()
    await other.answers()
    expect([...one.switches(), ...other.switches()]).toEqual(expected)
    expect([elevenlabs.requests.length, anthropic.asked.length, deepgram.requests.length]).toEqual(asked)
    expect(other.agentTexts()).toEqual(['Hello.', 'At nine in the morning.'])
    expect(JSON.stringify([one.events, other.events, on.logged])).not.toMatch(/-key/)
  })

  it('continues a sentence with the next TTS', async () => {
    vendors.elevenlabs.after = { chunks: 2, next: 'drop' }
    const one = await begin({ plan: { greeting: 'Good morning to you, this is the library.' } })
    // Eight letters in two chunks: "Good mor".
    expect(vendors.cartesia.asked.map(({ transcript }) => transcript)).toEqual(['morning to you, this is the library.'])
    expect(one.agentTexts()).toEqual(['Good morning to you, this is the library.'])
    expect(one.switches()).toEqual([{ kind: 'tts', from: 'elevenlabs', to: 'cartesia', code: 'unavailable' }])
  })

  it('uses the next LLM when the first hangs, and plays a filler', async () => {
    vendors.anthropic.answer = sse([], 'hang')
    const one = await begin()
    await one.says()
    await one.answers()
    expect(one.agentTexts()[1]).toBe(phrasesFor('en').oneMoment)
    await one.answers()
    expect(one.agentTexts()[2]).toBe('At nine in the morning.')
    expect(one.switches()).toMatchObject([{ kind: 'llm', to: 'google/gemini-3-flash-preview', code: 'timeout' }])
    await expect.poll(() => vendors.anthropic.left).toBeGreaterThan(0)
  })

  it('transcribes in the same turn when the STT fails during speech', async () => {
    const one = await begin()
    await one.says(400)
    vendors.deepgram.refuse = { status: 503 }
    vendors.deepgram.drop()
    await one.says(400)
    await one.answers()
    expect(one.turns()[1]).toMatchObject({ role: 'caller', text: 'when do you open' })
    expect(one.agentTexts()[1]).toBe('We open at nine.')
    expect(one.switches()).toEqual([{ kind: 'stt', from: 'deepgram', to: 'yandex_speechkit', code: 'unavailable' }])
  })

  it('transcribes in the same turn when two STT providers hang', async () => {
    vendors.deepgram.sttUnavailable = true
    vendors.yandex.answer = { next: 'hang' }
    const one = await begin()
    await one.says()
    await one.answers()
    expect(one.turns()[1]).toMatchObject({ role: 'caller', text: 'When do you open?' })
    expect(one.agentTexts()[1]).toBe('We open at nine.')
    expect(one.switches().map(({ to, code }) => [to, code])).toEqual([
      ['yandex_speechkit', 'timeout'],
      ['offline', 'timeout'],
    ])
  })

  it('falls back to offline STT, scripted model and offline TTS', async () => {
    const { deepgram, elevenlabs, cartesia, anthropic, google, yandex } = vendors
    deepgram.refuse = elevenlabs.refuse = cartesia.refuse = { status: 503 }
    anthropic.answer = refusal('anthropic', 529)
    google.answer = refusal('google', 429, { 'retry-after': '30' })
    yandex.answer = { status: 500 }
    const one = await begin()
    await one.says()
    await one.answers()
    expect(one.turns()[1]).toMatchObject({ role: 'caller', text: 'When do you open?' })
    expect(one.agentTexts()[1]).not.toBe('')
    expect(Math.max(...one.loudness)).toBe(6000)
    expect(one.switches().map(({ kind, to }) => [kind, to])).toEqual([
      ['tts', 'cartesia'],
      ['tts', 'offline'],
      ['stt', 'yandex_speechkit'],
      ['stt', 'offline'],
      ['llm', 'google/gemini-3-flash-preview'],
      ['llm', 'scripted'],
    ])
    expect(one.ended).toEqual([])
  })

  it('skips a provider without its secret, and logs it', async () => {
    const { EL: _, ...keys } = KEYS
    const one = await begin({ secrets: { vendor_keys: keys, llm_api_key: null } })
    await one.says()
    await one.answers()
    expect(one.agentTexts()).toEqual(['Hello.', 'At nine in the morning.'])
    expect(one.switches().map(({ from, code }) => [from, code])).toEqual([
      ['elevenlabs', 'unauthorized'],
      ['anthropic/claude-haiku-4-5', 'unauthorized'],
    ])
    expect([...vendors.elevenlabs.requests, ...vendors.anthropic.asked]).toEqual([])
  })

  it('plays one apology per turn when all models fail, then ends politely', async () => {
    vendors.elevenlabs.refuse = vendors.cartesia.refuse = { status: 503 }
    const gone: Llm = {
      // biome-ignore lint/correctness/useYield: it fails before
      async *respond() {
        throw new Error('gone')
      },
      wrapUp: () => Promise.reject(new Error('gone')),
    }
    const one = await begin({
      llm: (_, onSwitch) =>
        fallbackLlm(
          [
            { name: 'a', llm: gone },
            { name: 'b', llm: gone },
          ],
          { clock: fakeClock(), onSwitch },
        ),
    })
    await one.says()
    await one.answers()
    for (let turn = 0; turn < 2 && one.ended.length === 0; turn++) {
      await one.says()
      await one.answers()
    }
    await one.run(1000, 0)
    const { trouble, outage } = phrasesFor('en')
    const apologies = one.agentTexts().slice(1)
    expect([trouble, outage]).toEqual(expect.arrayContaining(apologies))
    expect(new Set(apologies).size).toBe(apologies.length)
    expect(apologies.at(-1)).toBe(outage)
    expect(one.ended).toEqual(['model_error'])
    expect(Math.max(...one.loudness)).toBe(6000)
  })
})

describe('cached phrases', () => {
  it('are synthesized once per voice, and never with another vendor', async () => {
    const on = engine()
    await begin({ on })
    await begin({ on })
    const greetings = () => vendors.elevenlabs.received.filter(({ text }) => text === 'Hello. ')
    expect(greetings()).toHaveLength(1)
    const { loudness } = await begin({ on, plan: { tts: [] } })
    expect(Math.max(...loudness)).toBe(6000)
    // Another customer's account is asked itself: its key may be wrong, its voice another.
    await begin({ on, secrets: { vendor_keys: { ...KEYS, EL: 'other' } } })
    expect(greetings()).toHaveLength(2)
  })
})

describe('model order of a project', () => {
  const requestOf: LlmRequest = {
    system: '',
    boundary: 'b0undaryOfTests1',
    language: 'en',
    messages: [{ role: 'caller', text: 'Hi' }],
    tools: [],
    today: new Date(0),
  }
  const never = new AbortController().signal
  async function names(changes: Partial<CallPlan>, config: Partial<ProvidersOptions['config']> = {}) {
    const switches: ProviderSwitch[] = []
    const { offline } = engine()
    // Nobody listens there: each fails at once and names the next.
    const urls = { ANTHROPIC_URL: 'http://127.0.0.1:1', GOOGLE_URL: 'http://127.0.0.1:1' }
    const all = { FETCH_ALLOW: [], ...urls, ...config } as unknown as ProvidersOptions['config']
    const providers = createProviders({ config: all, offline, clock: systemClock, log: quietLog })
    const llm = providers.llmFor(plan(changes), secretsOf(), change => void switches.push(change))
    const request = { ...requestOf, goal: null, extraction: null, repair: null }
    expect((await llm.wrapUp(request, never)).summary).not.toBe('')
    return switches.map(({ from, code }) => (code === 'unavailable' ? from : `${from}: ${code}`))
  }
  const operator = { LLM_BASE_URL: 'http://127.0.0.1:1/v1', LLM_MODEL: 'm' }
  const google = { llm: { provider: 'google' as const, model: 'g' }, key: 'GO' }

  it.each<[string, Partial<CallPlan>, object, string[]]>([
    ['none of its own', {}, {}, []],
    ['none of its own, but an operator’s', {}, operator, ['operator']],
    ['its own', { llm: { provider: 'anthropic', model: 'a' } }, operator, ['anthropic/a']],
    [
      'two of one name',
      { llm: { provider: 'google', model: 'g' }, llm_fallback: [google] },
      {},
      ['google/g', 'google/g (2)'],
    ],
    [
      'one that speaks itself, with a text model for the record',
      { llm: { provider: 'openai_realtime', model: 'r', voice: null }, llm_fallback: [google] },
      operator,
      ['google/g'],
    ],
    [
      'one that speaks itself alone',
      { llm: { provider: 'openai_realtime', model: 'r', voice: null } },
      operator,
      ['operator'],
    ],
    [
      'one at a private address, which the guard refuses',
      { llm: { provider: 'openai_compatible', base_url: `http://127.0.0.1:1/v1`, model: 'own' } },
      {},
      ['openai_compatible/own: bad_answer'],
    ],
  ])('%s; the scripted policy comes last', async (_, changes, config, expected) => {
    expect(await names(changes, config)).toEqual(expected)
  })

  it('never requests a private address of a customer', async () => {
    const { baseUrl } = vendors.anthropic
    const llm = { provider: 'openai_compatible' as const, base_url: `${baseUrl}/v1`, model: 'own' }
    await names({ llm })
    expect(vendors.anthropic.asked).toEqual([])
    await names({ llm }, { FETCH_ALLOW: [new URL(baseUrl).host] })
    expect(vendors.anthropic.asked.length).toBeGreaterThan(0)
  })
})
