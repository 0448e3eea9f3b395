/** Speech-to-text, voices and models that fail, and unusual callers: the call goes on or ends politely. */
import { describe, expect, it } from 'vitest'
import type { Stt, Tts } from '../../../media/ports/speech.ts'
import { answering, call, openTalk, text, toolPlan } from '../../fakes/conversation.ts'
import { fakeTts, LETTER_MS } from '../../fakes/speech.ts'

const stt = (transcribe: () => Promise<string>): Stt => ({
  open: () => ({ push() {}, close() {}, transcribe: async () => ({ text: await transcribe(), confidence: null }) }),
})

describe('an STT', () => {
  it('that never answers causes an apology, and ends the call if it persists', async () => {
    const { line, agentTexts, ended } = openTalk({ stt: stt(() => new Promise(() => {})) })
    await line.agentTurn()
    for (let i = 0; i < 3; i++) {
      await line.caller(800)
      await line.agentTurn(20_000)
    }
    expect(agentTexts().slice(1)).toEqual([
      'Sorry, I did not catch that. Could you say it again?',
      'Sorry, I did not catch that. Could you say it again?',
      'I am sorry, we have a technical problem. Please call again later. Goodbye.',
    ])
    await line.silence(300)
    expect(ended).toEqual(['model_error'])
  })
  it('that fails once makes the agent ask the caller to repeat', async () => {
    let asked = 0
    const failing = stt(async () => {
      if (asked++ === 0) throw new Error('429')
      return 'What time is it?'
    })
    const { line, agentTexts } = openTalk({ stt: failing })
    await line.agentTurn()
    await line.caller(800)
    await line.agentTurn()
    await line.caller(800)
    await line.agentTurn()
    expect(agentTexts().at(-1)).toBe('I see.')
  })
})

describe('a TTS', () => {
  const broken = (speak: Tts['speak']): Tts => ({ speak })
  it('that changes its sample rate continues the sentence', async () => {
    const tts = broken(async function* ({ text: words }) {
      const sound = (rate: number, ms: number) =>
        new Int16Array((rate / 1000) * ms).map((_, i) => (i % 8 < 4 ? 6000 : -6000))
      yield { pcm: sound(24_000, words.length * 30), sampleRate: 24_000 }
      yield { pcm: sound(16_000, words.length * 30), sampleRate: 16_000 }
    })
    const { line, turns } = openTalk({ tts })
    await line.agentTurn()
    const [greeting] = turns()
    const spokenMs = greeting!.ended_ms - greeting!.started_ms
    expect(Math.abs(spokenMs - 'Hi there.'.length * 60)).toBeLessThanOrEqual(40)
  })
  it('that fails in mid-answer keeps what it said', async () => {
    const whole = fakeTts()
    const tts = broken(async function* (options, signal) {
      let ms = 0
      for await (const chunk of whole.speak(options, signal)) {
        yield chunk
        ms += 100
        if (options.text.startsWith('One') && ms >= 1000) throw new Error('socket closed')
      }
    })
    const sentence = 'One two three four five six seven eight nine ten.'
    const { line, agentTexts } = openTalk({ tts, says: ['Count.'], replies: () => [text(sentence)] })
    await line.agentTurn()
    await line.caller(600)
    await line.agentTurn()
    const heard = agentTexts().at(-1)!
    expect(sentence.startsWith(heard)).toBe(true)
    expect(heard.length).toBeLessThan(1000 / LETTER_MS + 12)
  })
  it('that ends early without an error counts as failed', async () => {
    const tts = broken(async function* ({ text: words }) {
      const ms = words.length > 60 ? 400 : words.length * 60
      yield { pcm: new Int16Array(8 * ms).fill(5000), sampleRate: 8000 }
    })
    const sentence = 'Your table for four people is booked for tomorrow at eight in the evening by the window.'
    const { line, agentTexts } = openTalk({ tts, says: ['Book.'], replies: () => [text(sentence)] })
    await line.agentTurn()
    await line.caller(600)
    await line.agentTurn()
    expect(agentTexts().at(-1)!.length).toBeLessThan(20)
  })
  it('that fails permanently ends the call', async () => {
    const { line, ended } = openTalk({
      tts: broken(() => ({ [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(new Error('503')) }) })),
      says: ['Hello.', 'Hello?', 'Anybody?'],
    })
    for (let i = 0; i < 3 && ended.length === 0; i++) {
      await line.silence(500)
      await line.caller(600)
      await line.silence(2000)
    }
    expect(ended[0]).toBe('model_error')
  })
})

describe('a text model', () => {
  it('that never ends is cut off', async () => {
    const { line, conversation } = openTalk({
      says: ['Tell me all.'],
      replies: () => Array.from({ length: 5000 }, (_, i) => text(`Sentence number ${i} goes on. `)),
    })
    await line.agentTurn()
    await line.caller(600)
    await line.agentTurn(600_000)
    expect(conversation.transcript.turns.at(-1)!.text.length).toBeLessThan(5000)
  }, 180_000)
  it('that fails after a tool call is retried with the result', async () => {
    let round = 0
    const { line, agentTexts, tools } = openTalk({
      says: ['Weather.'],
      replies: async () => (round++ === 0 ? [call('look_up')] : [text('It is sunny.')]),
      fetch: answering({ things: { ms: 300 } }),
      plan: { tools: [toolPlan()] },
    })
    await line.agentTurn()
    await line.caller(600)
    await line.agentTurn()
    expect(tools()).toHaveLength(1)
    expect(agentTexts().at(-1)).toBe('It is sunny.')
  })
  it('that sends unparsable arguments receives an error', async () => {
    const asked: string[] = []
    let round = 0
    const { line, llm, agentTexts } = openTalk({
      says: ['Weather.'],
      replies: () =>
        round++ === 0
          ? [{ type: 'tool', id: 'a', name: 'look_up', arguments: {}, problem: 'Not a whole JSON object.' }]
          : [text('I could not.')],
      fetch: answering({ things: { ms: 300 } }, asked),
      plan: { tools: [toolPlan()] },
    })
    await line.agentTurn()
    await line.caller(600)
    await line.agentTurn()
    expect(asked).toEqual([])
    expect(llm.requests.at(-1)!.messages.at(-1)).toMatchObject({ ok: false, result: 'Not a whole JSON object.' })
    expect(agentTexts().at(-1)).toBe('I could not.')
  })
  it('that calls tools endlessly is stopped', async () => {
    const asked: string[] = []
    const { line, agentTexts } = openTalk({
      says: ['Weather.'],
      replies: () => [call('look_up')],
      fetch: answering({ things: { ms: 10 } }, asked),
      plan: { tools: [toolPlan()] },
    })
    await line.agentTurn()
    await line.caller(600)
    await line.agentTurn(20_000)
    expect(asked.length).toBeLessThan(10)
    expect(agentTexts().at(-1)).toMatch(/went wrong/)
  })
})

describe('a caller', () => {
  it('who speaks for ten minutes without a pause is answered', async () => {
    const { line, turns } = openTalk({ stt: stt(async () => 'and so on') })
    await line.agentTurn()
    await line.caller(600_000)
    await line.agentTurn()
    const said = turns().find(turn => turn.role === 'caller')!
    expect(said.text.split('and so on').length).toBeGreaterThan(25)
    expect(turns().at(-1)).toMatchObject({ role: 'agent', heard_text: 'I see.' })
  }, 300_000)
  it('who plays music is prompted, then hung up on', async () => {
    const { line, ended, agentTexts } = openTalk({ stt: stt(async () => '') })
    await line.agentTurn()
    await line.caller(120_000)
    expect(agentTexts().slice(1)).toEqual([
      'Are you still there?',
      'Are you still there?',
      'I can not hear you, so I will hang up now. Goodbye.',
    ])
    expect(ended).toEqual(['silence_timeout'])
  }, 180_000)
  it('who dictates digits is awaited and understood', async () => {
    const { line, turns } = openTalk({
      stt: stt(async () => '4 1 5 5 5 5 2 6 7 1'),
      plan: { greeting: 'What is your phone number?' },
    })
    await line.agentTurn()
    await line.caller(4000)
    await line.agentTurn()
    expect(turns().map(turn => turn.role)).toEqual(['agent', 'caller', 'agent'])
  })
  it('with an echo does not interrupt the agent', async () => {
    const { line, turns } = openTalk({
      stt: stt(async () => 'you hear yourself'),
      plan: { greeting: 'One two three four five six seven eight nine ten eleven.' },
    })
    line.echo = { delayMs: 160, gain: 0.5 }
    await line.agentTurn()
    await line.silence(2000)
    expect(turns()).toMatchObject([{ role: 'agent', interrupted: false }])
  })
})
