/** Conversations in which a tool, the voice or the model stalls: no call hangs, and no words are lost. */
import { describe, expect, it } from 'vitest'
import { endpointMs } from '../../../media/agent/endpointing.ts'
import { createSplitter } from '../../../media/agent/sentences.ts'
import type { LlmEvent, LlmRequest } from '../../../media/ports/llm.ts'
import type { SpeechChunk, Stt, Tts } from '../../../media/ports/speech.ts'
import { answering, call, hit, openTalk, text, toolPlan } from '../../fakes/conversation.ts'
import { settle } from '../../fakes/line.ts'
import { fakeTts } from '../../fakes/speech.ts'
import { effortOf } from '../../support/effort.ts'

const stt = (transcribe: (fromMs: number, toMs: number) => Promise<string> | string): Stt => ({
  open: () => ({
    push() {},
    close() {},
    transcribe: async (fromMs, toMs) => ({ text: await transcribe(fromMs, toMs), confidence: null }),
  }),
})

/** Rejects when `done` does not come within a moment, instead of hanging the test. */
const soon = (done: Promise<unknown>) =>
  Promise.race([
    done.then(() => 'settled'),
    (async () => {
      for (let i = 0; i < 50; i++) await settle()
      return 'hangs'
    })(),
  ])

const never = () => new Promise<never>(() => {})

describe('tools', () => {
  it('whose filler is interrupted leaves an answer, not an apology', async () => {
    let round = 0
    const { line, agentTexts, tools } = openTalk({
      says: ['Look it up.', 'Wait, and what about Monday?'],
      replies: () => {
        round++
        return round === 1 ? [call('look_up')] : [text('All is booked.')]
      },
      fetch: answering({ things: { ms: 900 } }),
      plan: {
        tools: [toolPlan({ filler: [{ after_ms: 200, text: 'One moment, I am looking that up for you now.' }] })],
      },
    })
    await line.agentTurn()
    await line.caller(500)
    while (!line.agent.at(-1)) await line.silence(20)
    // The tool has answered, the filler still plays; now the caller talks.
    await line.silence(1100)
    expect(tools()).toHaveLength(1)
    await line.caller(500)
    await line.agentTurn()
    expect(agentTexts().join(' ')).not.toMatch(/went wrong/)
    expect(agentTexts().at(-1)).toBe('All is booked.')
  })

  it('records do-not-call when the caller hangs up before the answer ends', async () => {
    const talk = openTalk({ says: ['Never call me again.'] })
    const slow = async function* (_: LlmRequest): AsyncGenerator<LlmEvent> {
      yield call('do_not_call')
      await never()
    }
    talk.llm.respond = slow
    await talk.line.agentTurn()
    await talk.line.caller(600)
    await talk.line.silence(1500)
    expect(talk.tools()).toMatchObject([{ name: 'do_not_call', status: 'ok' }])
    talk.conversation.stop()
    await talk.conversation.settled()
    expect(talk.conversation.doNotCall).toBe(true)
  })

  it.each(['transfer', 'send_digits'] as const)('ends the call although %s never ends', async name => {
    const { line, conversation, tools } = openTalk({
      says: ['Do it.'],
      replies: () => [
        name === 'transfer' ? call('transfer_call', { to: 'desk' }) : call('send_digits', { digits: '1' }),
      ],
      abilities: { transfer: never, sendDtmf: never },
      plan: { transfers: [{ name: 'desk', to: '+12025550199', description: '', announce: null }] },
    })
    await line.agentTurn()
    await line.caller(600)
    await line.silence(1500)
    conversation.stop()
    expect(await soon(conversation.settled())).toBe('settled')
    expect(tools()).toMatchObject([{ status: 'failed' }])
  })

  it('built in are bridged by a filler, too', async () => {
    let round = 0
    const { line, agentTexts, clock } = openTalk({
      says: ['When do you open?'],
      replies: () => (round++ === 0 ? [call('search_knowledge', { query: 'hours' })] : [text('At nine.')]),
      abilities: {
        searchKnowledge: () =>
          new Promise(resolve => clock.after(4000, () => resolve([hit({ text: '9', source: 's' })]))),
      },
      plan: { knowledge: true },
    })
    await line.agentTurn()
    await line.caller(600)
    await line.agentTurn()
    expect(agentTexts().at(-1)).toBe('One moment, please.')
    await line.agentTurn()
    expect(agentTexts().at(-1)).toBe('At nine.')
  })
})

describe('a TTS that hangs', () => {
  const hanging = (when: (words: string) => boolean): Tts => {
    const whole = fakeTts()
    return {
      async *speak(options, signal) {
        if (!when(options.text)) return yield* whole.speak(options, signal)
        for await (const chunk of whole.speak(options, signal)) {
          yield chunk
          break
        }
        await new Promise<void>(resolve => signal.addEventListener('abort', () => resolve()))
      },
    }
  }

  it('in mid-sentence does not mute the agent for the rest of the call', async () => {
    const { line, agentTexts } = openTalk({
      tts: hanging(words => words.startsWith('Your table')),
      says: ['Book.'],
      replies: () => [text('Your table is booked for tomorrow at eight.')],
    })
    await line.agentTurn()
    await line.caller(600)
    await line.silence(30_000)
    expect(agentTexts().some(words => words.startsWith('Are you still'))).toBe(true)
  })

  it('at the last word still ends the call', async () => {
    const { line, conversation, ended } = openTalk({ tts: hanging(words => words.startsWith('Goodbye')) })
    await line.agentTurn()
    conversation.endWith('Goodbye for now.', 'max_duration')
    await line.silence(15_000)
    expect(ended).toEqual(['max_duration'])
  })

  it('is aborted at the end of the call', async () => {
    const aborted: string[] = []
    const whole = fakeTts()
    const tts: Tts = {
      async *speak(options, signal): AsyncGenerator<SpeechChunk> {
        if (!options.text.startsWith('Your')) return yield* whole.speak(options, signal)
        for await (const chunk of whole.speak(options, signal)) {
          yield chunk
          break
        }
        await new Promise<void>(resolve => signal.addEventListener('abort', () => resolve()))
        aborted.push(options.text)
      },
    }
    const { line, conversation } = openTalk({ tts, says: ['Book.'], replies: () => [text('Your table is booked.')] })
    await line.agentTurn()
    await line.caller(600)
    await line.silence(1500)
    conversation.stop()
    await settle()
    expect(aborted).toEqual(['Your table is booked.'])
  })

  it('returns no audio for text: a failure, not an answer', async () => {
    const tts: Tts = {
      async *speak(options, signal) {
        if (options.text.startsWith('Hi')) yield* fakeTts().speak(options, signal)
      },
    }
    const { line, ended } = openTalk({ tts, stt: stt(() => 'What time is it?') })
    await line.agentTurn()
    for (let i = 0; i < 3 && ended.length === 0; i++) {
      await line.caller(600)
      await line.silence(1500)
    }
    expect(ended).toEqual(['model_error'])
  })
})

describe('a caller', () => {
  it("who repeats the agent's words to confirm is not taken for an echo", async () => {
    const { line, turns } = openTalk({
      stt: stt(() => 'Tuesday the fifth at eight.'),
      plan: { greeting: 'Shall it be Tuesday the fifth at eight?' },
    })
    await line.agentTurn()
    await line.silence(400)
    await line.caller(1800)
    await line.agentTurn()
    expect(turns().map(turn => [turn.role, turn.heard_text])).toContainEqual(['caller', 'Tuesday the fifth at eight.'])
  })

  it('with constant noise is prompted, then hung up on', async () => {
    const { line, ended, agentTexts } = openTalk({ stt: stt(() => '') })
    await line.agentTurn()
    for (let i = 0; i < 40 && ended.length === 0; i++) {
      await line.caller(300)
      await line.silence(3000)
    }
    expect(agentTexts()).toContain('Are you still there?')
    expect(ended).toEqual(['silence_timeout'])
  }, 180_000)

  it('who presses only # has answered', async () => {
    const { line, turns } = openTalk({ plan: { greeting: 'Press the hash key to confirm.' } })
    await line.agentTurn()
    line.press('#')
    await line.agentTurn()
    expect(turns().map(turn => [turn.role, turn.text])).toEqual([
      ['agent', 'Press the hash key to confirm.'],
      ['caller', '#'],
      ['agent', 'I see.'],
    ])
  })

  it('who speaks and presses keys at once loses neither input', async () => {
    const { line, turns } = openTalk({ stt: stt(() => 'My code is') })
    await line.agentTurn()
    await line.caller(900)
    await line.silence(300)
    for (const key of '4711') line.press(key)
    await line.agentTurn()
    await line.silence(3000)
    const said = turns()
      .filter(turn => turn.role === 'caller')
      .map(turn => turn.text)
    expect(said.toSorted()).toEqual(['4711', 'My code is'])
  })

  it('who presses keys and then speaks loses neither input', async () => {
    const { line, turns } = openTalk({ stt: stt(() => 'That is my code.') })
    await line.agentTurn()
    for (const key of '4711') line.press(key)
    await line.silence(200)
    await line.caller(700)
    await line.agentTurn()
    await line.silence(3000)
    const said = turns()
      .filter(turn => turn.role === 'caller')
      .map(turn => turn.text)
    expect(said.toSorted()).toEqual(['4711', 'That is my code.'])
  })
})

describe('a model', () => {
  it('that writes endlessly is synthesized up to a limit', async () => {
    const { line, tts } = openTalk({ says: ['Tell me.'], replies: () => [text('This is a sentence. '.repeat(50_000))] })
    await line.agentTurn()
    await line.caller(600)
    await line.silence(1500)
    expect(tts.spoken.join(' ').length).toBeLessThan(5000)
  })
  it('that hangs up without text says a default goodbye', async () => {
    const { line, ended, agentTexts } = openTalk({ says: ['That is all.'], replies: () => [call('end_call')] })
    await line.agentTurn()
    await line.caller(600)
    await line.silence(3000)
    expect(agentTexts().at(-1)).toBe('Goodbye.')
    expect(ended).toEqual(['agent_hangup'])
  })
})

describe('an agent that has said goodbye', () => {
  const leaving = (says: string[]) => {
    let asked = 0
    return openTalk({
      says,
      replies: () => (asked++ === 0 ? [text('Goodbye.'), call('end_call')] : [text('Please ask.')]),
    })
  }
  it('does not hang up on a caller who starts to speak', async () => {
    const { line, ended, agentTexts } = leaving(['Bye.', 'Wait, one more question.'])
    await line.agentTurn()
    await line.caller(500)
    while (!line.agent.at(-1)) await line.silence(20)
    while (line.agent.at(-1)) await line.silence(20)
    await line.caller(900)
    await line.agentTurn()
    await line.silence(1000)
    expect(agentTexts().at(-1)).toBe('Please ask.')
    expect(ended).toEqual([])
  })
  it('hangs up once, also with noise', async () => {
    const { line, ended, tools } = leaving(['Bye.', ''])
    await line.agentTurn()
    await line.caller(500)
    while (!line.agent.at(-1)) await line.silence(20)
    while (line.agent.at(-1)) await line.silence(20)
    await line.caller(6000)
    expect(ended).toEqual(['agent_hangup'])
    expect(tools()).toMatchObject([{ name: 'end_call', status: 'ok' }])
  })
})

describe('event loop time', () => {
  /** Once the compiler has seen it. */
  const least = (run: () => void) => Math.min(...Array.from({ length: 9 }, () => effortOf(run)))
  it('does not grow with the history', () => {
    for (const words of ['at the corner ', 'eight 4 1 5 ', 'и так далее ', 'собака ']) {
      const long = words.repeat(60_000 / words.length)
      expect(least(() => endpointMs(long))).toBeLessThan(5)
    }
  })
  it("does not grow with the length of the model's stream", () => {
    for (const piece of ['.', '!? ', '\n', 'a. ', ' ', ', ', 'No. ']) {
      const splitter = createSplitter()
      const long = piece.repeat(20_000 / piece.length)
      expect(effortOf(() => splitter.push(long))).toBeLessThan(100)
    }
  })
})
