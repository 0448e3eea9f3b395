import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { endpointMs, isBackchannel } from '../../../media/agent/endpointing.ts'
import { coverFiller, dueFiller, startFiller } from '../../../media/agent/filler.ts'
import { heardText } from '../../../media/agent/heard.ts'
import { Playout } from '../../../media/agent/playout.ts'
import { createSplitter } from '../../../media/agent/sentences.ts'
import { initialTurn, stepTurn, type TurnEffect, type TurnInput } from '../../../media/agent/turn.ts'

describe('heard text', () => {
  const text = 'Your table is booked for eight in the evening.'
  it.each([
    [0, ''],
    [1000, 'Your table is'],
    [2000, 'Your table is booked for'],
    [4000, text],
  ])('after %i of 4000 ms', (playedMs, heard) => {
    expect(heardText({ text, playedMs, totalMs: 4000 })).toBe(heard)
  })

  it('grows with time, as a prefix of the whole text', () => {
    fc.assert(
      fc.property(
        fc.array(fc.stringMatching(/^[a-z]{1,9}[.,]?$/), { minLength: 1, maxLength: 20 }),
        fc.integer({ min: 40, max: 120 }),
        (words, letterMs) => {
          const sentence = words.join(' ')
          const totalMs = 400 + sentence.length * letterMs
          let last = 0
          for (let playedMs = 0; playedMs <= totalMs; playedMs += 50) {
            const heard = heardText({ text: sentence, playedMs, totalMs })
            expect(sentence.startsWith(heard)).toBe(true)
            expect(heard.length).toBeGreaterThanOrEqual(last)
            last = heard.length
          }
          expect(heardText({ text: sentence, playedMs: totalMs, totalMs })).toBe(sentence)
        },
      ),
    )
  })
})

describe('playout', () => {
  const make = () => {
    const events: string[] = []
    const playout = new Playout(8000, {
      onStarted: at => events.push(`start ${at}`),
      onFinished: at => events.push(`end ${at}`),
      onStalled: () => events.push('stalled'),
    })
    return { playout, events }
  }
  const sound = (ms: number) => new Int16Array(ms * 8).fill(5)

  it('plays sentences in order, pads the last frame, and reports start and end', () => {
    const { playout, events } = make()
    const first = playout.add('One.')
    first.write(sound(30), 8000)
    first.end()
    const second = playout.add('Two.')
    second.write(sound(20), 8000)
    second.end()
    playout.finish()
    const frames = [0, 20, 40, 60].map(at => playout.pull(at))
    expect(frames.map(frame => frame?.filter(sample => sample !== 0).length ?? null)).toEqual([160, 80, 160, null])
    expect(events).toEqual(['start 0', 'end 60'])
    expect(playout.spoken()).toMatchObject({ text: 'One. Two.', heardText: 'One. Two.', heardMs: 50 })
  })

  it('waits for audio that is not synthesized yet', () => {
    const { playout, events } = make()
    const sentence = playout.add('Slow.')
    expect(playout.pull(0)).toBeNull()
    sentence.write(sound(20), 8000)
    expect(playout.pull(20)).not.toBeNull()
    expect(playout.pull(40)).toBeNull()
    expect(playout.starved).toBe(1)
    expect(events).toEqual(['start 20'])
  })

  it('outputs nothing while paused, and knows the heard text', () => {
    const { playout } = make()
    const sentence = playout.add('aaaa bbbb cccc dddd')
    sentence.write(sound(400), 8000)
    sentence.end()
    playout.finish()
    for (let at = 0; at < 200; at += 20) playout.pull(at)
    playout.pause()
    expect(playout.pull(200)).toBeNull()
    playout.resume()
    expect(playout.pull(220)).not.toBeNull()
    expect(playout.spoken()).toMatchObject({ heardMs: 220, heardText: 'aaaa bbbb' })
    playout.clear()
    expect(playout.active).toBe(false)
    sentence.write(sound(100), 8000)
    expect(playout.pull(240)).toBeNull()
  })

  it('ends a run whose TTS failed before any audio', () => {
    const { playout, events } = make()
    playout.add('Lost.').end()
    playout.finish()
    expect(playout.pull(0)).toBeNull()
    expect(events).toEqual(['end 0'])
    expect(playout.spoken()).toMatchObject({ heardText: '', startedMs: null })
  })
})

describe('sentences', () => {
  const split = (text: string, size = 5) => {
    const splitter = createSplitter()
    const out: string[] = []
    for (let i = 0; i < text.length; i += size) out.push(...splitter.push(text.slice(i, i + size)))
    const rest = splitter.flush()
    return rest ? [...out, rest] : out
  }

  it.each([
    ['Hello there. How are you?', ['Hello there.', 'How are you?']],
    ['Dr. Smith costs 3.50 a day. Yes!', ['Dr. Smith costs 3.50 a day.', 'Yes!']],
    ['**Bold** and `code`\n- one\n- two', ['Bold and code', 'one', 'two']],
    ['Привет! Как дела?', ['Привет!', 'Как дела?']],
    ['No end', ['No end']],
    ['', []],
  ])('of %j', (text, expected) => {
    expect(split(text)).toEqual(expected)
  })

  it('are independent of how the stream is chunked, without loss', () => {
    fc.assert(
      fc.property(
        fc.array(fc.stringMatching(/^[a-zA-Z]{1,8}[.,!?]?$/), { minLength: 1, maxLength: 60 }),
        fc.integer({ min: 1, max: 30 }),
        (words, size) => {
          const text = words.join(' ')
          expect(split(text, size).join(' ')).toBe(text)
        },
      ),
    )
  })
})

describe('endpointing', () => {
  it('answers a plain yes soonest, and waits longest for spelling', () => {
    const order = [
      'Yes.',
      'I want a table.',
      'I want a table',
      'my number is four one',
      'I want a table and',
      'four one five two',
    ]
    const times = order.map(text => endpointMs(text))
    expect(times[0]).toBeLessThan(times[1]!)
    expect(times[1]).toBeLessThan(times[2]!)
    expect(times[2]).toBeLessThan(times[3]!)
    expect(times[4]).toBeGreaterThan(times[2]!)
    expect(times[5]).toBeGreaterThan(times[4]!)
  })

  it.each(['uh-huh', 'Mm-hmm.', 'yeah', 'Okay, right.', 'угу', 'да, да'])('%s is a backchannel', text => {
    expect(isBackchannel(text)).toBe(true)
  })
  it.each(['no', 'stop', 'yes but listen', 'okay stop', 'нет'])('%s is not a backchannel', text => {
    expect(isBackchannel(text)).toBe(false)
  })
})

describe('filler', () => {
  const stages = [
    { after_ms: 500, text: 'a' },
    { after_ms: 3000, text: 'b' },
  ]
  const at = (atMs: number, changes: { past?: number; spokenMs?: number } = {}, soundBusy = false) =>
    dueFiller({ ...startFiller(stages, 1000), ...changes }, atMs, soundBusy, 'still')

  it('is spoken in stages', () => {
    expect([at(1400), at(1500), at(2000, { past: 1, spokenMs: 1500 })]).toEqual([null, 'a', null])
    expect(at(4000, { past: 1, spokenMs: 1500 })).toBe('b')
  })
  it('never overlaps other audio, and merges due stages', () => {
    expect(at(1500, {}, true)).toBeNull()
    expect(at(4500)).toBe('b')
    const filler = startFiller(stages, 1000)
    coverFiller(filler, 4500)
    expect(dueFiller(filler, 6500, false, 'still')).toBeNull()
  })
  it('repeats after the last stage', () => {
    expect(at(9000, { past: 2, spokenMs: 4000 })).toBeNull()
    expect(at(12_000, { past: 2, spokenMs: 4000 })).toBe('still')
  })
  it('is omitted when disabled', () => {
    expect(dueFiller(startFiller([], 0), 60_000, false, 'still')).toBeNull()
  })
})

describe('the turn machine', () => {
  it('never throws, commits only text, and keeps the order of pause, resume and cut', () => {
    const input: fc.Arbitrary<Omit<TurnInput, 'atMs'> & { after: number }> = fc.oneof(
      fc.record({
        type: fc.constant('voice' as const),
        voiced: fc.boolean(),
        windowMs: fc.constant(32),
        after: fc.integer({ min: 20, max: 60 }),
      }),
      fc.record({
        type: fc.constant('hypothesis' as const),
        toMs: fc.constant(-1),
        text: fc.constantFrom('', 'uh-huh', 'stop it', 'four one five'),
        after: fc.integer({ min: 0, max: 200 }),
      }),
      fc.record({
        type: fc.constantFrom('agent_busy' as const, 'agent_started' as const, 'agent_idle' as const, 'tick' as const),
        after: fc.integer({ min: 0, max: 5000 }),
      }),
      fc.record({
        type: fc.constant('key' as const),
        digit: fc.constantFrom('1', '#'),
        after: fc.integer({ min: 0, max: 3000 }),
      }),
    ) as never
    fc.assert(
      fc.property(fc.array(input, { maxLength: 120 }), inputs => {
        let state = initialTurn(0)
        let atMs = 0
        let paused = false
        let asked: number | null = null
        for (const { after, ...rest } of inputs) {
          atMs += after
          const whole = { ...rest, atMs, ...(rest.type === 'hypothesis' ? { toMs: asked ?? 0 } : {}) } as TurnInput
          const step = stepTurn(state, whole)
          state = step.state
          for (const effect of step.effects as TurnEffect[]) {
            if (effect.type === 'transcribe') asked = effect.toMs
            if (effect.type === 'commit') expect(effect.text.trim()).not.toBe('')
            if (effect.type === 'pause') {
              expect(paused).toBe(false)
              paused = true
            }
            if (effect.type === 'resume') {
              expect(paused).toBe(true)
              paused = false
            }
            if (effect.type === 'cut') paused = false
          }
          if (whole.type === 'agent_idle') paused = false
          expect(state.paused).toBe(paused)
        }
      }),
      { numRuns: 500 },
    )
  })
})
