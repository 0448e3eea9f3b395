/**
 * Random behaviour of caller, model, voice, speech-to-text and tools, in any order: a caller who falls silent is
 * prompted, and then the call ends.
 */
import { describe, expect, it } from 'vitest'
import type { LlmEvent } from '../../../media/ports/llm.ts'
import type { SpeechChunk, Stt, Tts } from '../../../media/ports/speech.ts'
import { call, openTalk, text, toolPlan } from '../../fakes/conversation.ts'
import { type FakeClock, fakeClock } from '../../fakes/line.ts'
import { LETTER_MS } from '../../fakes/speech.ts'

const SEEDS = Number(process.env['FUZZ_SEEDS'] ?? 12)
const FIRST = Number(process.env['FUZZ_FIRST'] ?? 45)

function random(seed: number) {
  let state = seed * 2_654_435_761
  const next = () => {
    state = (Math.imul(state ^ (state >>> 15), 2_246_822_519) + 0x9e3779b9) | 0
    return ((state ^ (state >>> 13)) >>> 0) / 2 ** 32
  }
  const upTo = (most: number) => Math.floor(next() * most)
  return { next, upTo, one: <T>(...choices: T[]) => choices[upTo(choices.length)]! }
}

const after = (clock: FakeClock, ms: number, signal?: AbortSignal) =>
  new Promise<void>(resolve => {
    clock.after(ms, resolve)
    signal?.addEventListener('abort', () => resolve())
  })

/** Bad days end: after `calmMs` all of them work. */
function badDay(seed: number) {
  const dice = random(seed)
  let clock: FakeClock = fakeClock()
  let calm = false
  const bad = (share: number) => !calm && dice.next() < share
  const tts: Tts = {
    async *speak({ text: words }, signal): AsyncGenerator<SpeechChunk> {
      const broken = bad(0.1) ? dice.one('throws', 'hangs', 'nothing', 'half') : 'well'
      if (bad(0.3)) await after(clock, dice.upTo(1500), signal)
      if (broken === 'nothing') return
      if (broken === 'throws') throw new Error('503')
      const pcm = new Int16Array(8 * LETTER_MS * words.length).map((_, i) => (i % 8 < 4 ? 6000 : -6000))
      for (let at = 0; at < pcm.length && !signal.aborted; at += 800) {
        if (broken === 'hangs' && at > 0)
          await new Promise<void>(done => signal.addEventListener('abort', () => done()))
        if (broken === 'half' && at > pcm.length / 2) throw new Error('gone')
        yield { pcm: pcm.subarray(at, at + 800), sampleRate: 8000 }
      }
    },
  }
  const stt: Stt = {
    open: () => ({
      push() {},
      close() {},
      async transcribe() {
        if (bad(0.4)) await after(clock, dice.upTo(1500))
        if (bad(0.05)) await new Promise(() => {})
        if (bad(0.05)) throw new Error('429')
        const words = [
          '',
          'Yes.',
          'uh-huh',
          'What time is it?',
          'No, wait',
          '4 1 5',
          'my number is',
          'Алло?',
          'Hi there.',
        ]
        return { text: dice.one(...words), confidence: null }
      },
    }),
  }
  const replies = async (): Promise<LlmEvent[]> => {
    if (bad(0.4)) await after(clock, dice.upTo(4000))
    if (bad(0.05)) await new Promise(() => {})
    if (bad(0.05)) throw new Error('500')
    const id = `${dice.next()}`
    return dice.one(
      [text('It is three o clock. Is that all right?')],
      [text('One. Two. Three.')],
      [call('look_up', {}, id)],
      [text('Let me see.'), call('look_up', {}, id)],
      [call('look_up', { a: 1 }, id), call('look_up', { a: 2 }, `${id}b`)],
      [call('take_message', { message: 'x' }, id)],
      [text('Noted.'), call('take_message', { message: 'x' }, id)],
      [call('transfer_call', { to: 'desk' }, id)],
      [call('no_such_tool', {}, id)],
      [text('Goodbye.'), call('end_call', {}, id)],
      [call('look_up', {}, id), call('end_call', {}, `${id}b`)],
      [],
    )
  }
  const talk = openTalk({
    stt,
    tts,
    replies,
    plan: {
      tools: [toolPlan({ filler: dice.one(null, [], [{ after_ms: 300, text: 'One moment.' }]) })],
      transfers: [{ name: 'desk', to: '+12025550199', description: '', announce: null }],
      disclosure: dice.one(null, 'I am a machine.'),
      voicemail: dice.one({ action: 'ignore' as const }, { action: 'hangup' as const }),
    },
    abilities: { transfer: async () => after(clock, dice.upTo(3000)).then(() => ({ ok: false, reason: 'busy' })) },
    fetch: given => {
      clock = given
      return async request => {
        await after(clock, dice.upTo(6000), request.signal)
        return { status: 200, headers: {}, body: Buffer.from('{"a":1}'), url: request.url }
      }
    },
  })
  return { ...talk, dice, calmDown: () => (calm = true) }
}

describe('a conversation with random failures', () => {
  it.each(Array.from({ length: SEEDS }, (_, i) => FIRST + i))(
    'ends (seed %i)',
    async seed => {
      const { line, ended, dice, calmDown, conversation, turns } = badDay(seed)
      for (let i = 0; i < 25 && ended.length === 0; i++) {
        const what = dice.upTo(10)
        if (what < 4) await line.caller(100 + dice.upTo(1800))
        else if (what < 9) await line.silence(dice.upTo(2500))
        else line.press(dice.one('1', '2', '#'))
      }
      calmDown()
      let silentMs = 0
      let longestMs = 0
      for (let ms = 0; ms < 150_000 && ended.length === 0; ms += 20) {
        await line.silence(20)
        silentMs = line.agent.at(-1) ? 0 : silentMs + 20
        longestMs = Math.max(longestMs, silentMs)
      }
      expect(ended.length).toBeGreaterThan(0)
      // Silence prompts come after nine seconds; a model or a voice that hangs is given up by then too, one after the other.
      expect(longestMs).toBeLessThan(30_000)
      conversation.stop()
      await conversation.settled()
      for (const turn of turns()) {
        expect(turn.heard_text.length).toBeLessThanOrEqual(turn.text.length)
        expect(turn.ended_ms).toBeGreaterThanOrEqual(turn.started_ms)
      }
    },
    60_000,
  )
})
