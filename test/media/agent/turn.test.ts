/** Scenarios of the turn machine: the caller's voice in 32 ms windows, an on-demand recogniser, an agent. */
import { describe, expect, it } from 'vitest'
import {
  BARGE_IN_VOICE_MS,
  initialTurn,
  PART_MS,
  SILENCE_PROMPT_MS,
  stepTurn,
  type TurnEffect,
  type TurnInput,
  type TurnState,
} from '../../../media/agent/turn.ts'

const WINDOW = 32

class Scene {
  state: TurnState = initialTurn(0)
  nowMs = 0
  /** With the time of each. */
  log: (TurnEffect & { nowMs: number })[] = []
  /** Current result of speech-to-text; undefined while there is none. */
  words: string | undefined = ''
  failed = false
  sttMs = 60
  #pending: { toMs: number; dueMs: number }[] = []

  feed(input: TurnInput): void {
    const { state, effects } = stepTurn(this.state, input)
    this.state = state
    for (const effect of effects) {
      this.log.push({ ...effect, nowMs: this.nowMs })
      if (effect.type === 'transcribe') this.#pending.push({ toMs: effect.toMs, dueMs: this.nowMs + this.sttMs })
    }
  }

  run(ms: number, voiced: boolean): this {
    const until = this.nowMs + ms
    while (this.nowMs + WINDOW <= until) {
      this.nowMs += WINDOW
      const atMs = this.nowMs
      this.feed({ type: 'voice', voiced, atMs, windowMs: WINDOW, loudMs: voiced ? atMs : atMs - WINDOW })
      const due = this.#pending.filter(ask => ask.dueMs <= atMs)
      if (this.words !== undefined) {
        this.#pending = this.#pending.filter(ask => ask.dueMs > atMs)
        for (const { toMs } of due) {
          this.feed({ type: 'hypothesis', toMs, text: this.words, failed: this.failed, atMs })
        }
      }
      this.feed({ type: 'tick', atMs })
    }
    return this
  }
  talk(ms: number, words?: string): this {
    this.words = words
    return this.run(ms, true)
  }
  hush(ms: number): this {
    return this.run(ms, false)
  }
  agent(speaking: boolean, said = ''): this {
    if (speaking) this.feed({ type: 'agent_started', atMs: this.nowMs })
    else {
      this.feed({ type: 'agent_said', text: said })
      this.feed({ type: 'agent_idle', atMs: this.nowMs })
    }
    return this
  }
  types(): string[] {
    return this.log.map(effect => effect.type).filter(type => type !== 'transcribe')
  }
  commits() {
    return this.log.filter(effect => effect.type === 'commit')
  }
}

describe('barge-in', () => {
  it('pauses playout at the first voiced windows', () => {
    const scene = new Scene().agent(true)
    scene.talk(200)
    const paused = scene.log.find(effect => effect.type === 'pause')!
    expect(paused.nowMs).toBeLessThanOrEqual(BARGE_IN_VOICE_MS + WINDOW)
  })

  it('stops the agent when it contains words, before the caller finishes', () => {
    const scene = new Scene().agent(true)
    scene.talk(3000, 'no I wanted something else')
    expect(scene.types()).toEqual(['pause', 'cut'])
    expect(scene.log.find(effect => effect.type === 'cut')!.nowMs).toBeLessThan(900)
    scene.hush(1200)
    expect(scene.types()).toEqual(['pause', 'cut', 'prepare', 'commit'])
  })

  it.each([
    ['an "uh-huh"', 'Uh-huh.', 300],
    ['a cough', '', 250],
    ['a bang', '', 64],
  ])('resumes after %s within half a second', (_, words, ms) => {
    const scene = new Scene().agent(true)
    scene.talk(ms, words)
    const endedMs = scene.nowMs
    scene.hush(1000)
    expect(scene.types()).toEqual(['pause', 'resume'])
    expect(scene.log.at(-1)!.nowMs - endedMs).toBeLessThanOrEqual(260)
  })

  it('is not stopped for good by noise, and evaluates the next speech', () => {
    const scene = new Scene().agent(true)
    scene.talk(2000, '')
    expect(scene.types()).toEqual(['pause', 'resume'])
    scene.talk(1700, 'stop that please')
    expect(scene.types()).toEqual(['pause', 'resume', 'cut'])
  })

  it('does not end the turn for an "okay" within it', () => {
    const scene = new Scene().agent(true)
    scene.talk(800, 'okay')
    expect(scene.types()).toEqual(['pause'])
    scene.talk(700, 'okay but I want another day')
    expect(scene.types()).toEqual(['pause', 'cut'])
  })

  it('resumes without an STT answer, and stops when it arrives', () => {
    const scene = new Scene().agent(true)
    scene.talk(400)
    scene.hush(2000)
    expect(scene.types()).toEqual(['pause', 'resume'])
    scene.words = 'wait a moment'
    scene.hush(400)
    expect(scene.types().slice(2, 4)).toEqual(['cut', 'prepare'])
  })

  it('with "yes" over the end of a question is an answer', () => {
    const scene = new Scene().agent(true)
    scene.talk(300, 'Yes.').hush(400)
    scene.agent(false, 'I have a table at eight. Shall I book it?')
    expect(scene.types()).toEqual(['pause', 'resume', 'commit'])
    expect(scene.commits()[0]).toMatchObject({ text: 'Yes.' })
  })

  it('with "yes" in mid-story is no answer', () => {
    const scene = new Scene().agent(true)
    scene.talk(300, 'Yes.').hush(3000)
    scene.agent(false, 'I have a table at eight. Shall I book it?')
    expect(scene.commits()).toHaveLength(0)
  })

  it('during generation delays the answer', () => {
    const scene = new Scene()
    scene.talk(800, 'I want a table.').hush(900)
    expect(scene.types()).toEqual(['prepare', 'commit'])
    scene.talk(900, 'For four people.')
    expect(scene.types().at(-1)).toBe('pause')
    scene.hush(900)
    expect(scene.types().slice(-2)).toEqual(['resume', 'commit'])
    expect(scene.state.paused).toBe(false)
  })

  it('never leaves playout paused at the end', () => {
    const scene = new Scene()
    scene.feed({ type: 'agent_busy', atMs: 0 })
    scene.talk(200)
    scene.agent(false, '')
    expect(scene.types()).toEqual(['pause', 'resume'])
    expect(scene.state.paused).toBe(false)
  })
})

describe('the end of a turn', () => {
  /** From the end of speech to the commit. */
  const waitFor = (words: string, question = '') => {
    const scene = new Scene().agent(false, question)
    scene.talk(1000, words)
    const endedMs = scene.nowMs
    scene.hush(2500)
    return scene.commits()[0]!.nowMs - endedMs
  }
  it('comes sooner after a yes to a question than after other words', () => {
    expect(waitFor('Yes.', 'Shall I book it?')).toBeLessThanOrEqual(352)
    expect(waitFor('Yes.', 'Tell me about it.')).toBeGreaterThan(380)
  })
  it.each([
    ['four one five', 'What is your phone number?', 1300],
    ['415 555', 'May I have your telephone number, please?', 1300],
    ['Anna.', 'What is your e-mail address?', 1300],
    ['No, I do not have any.', 'What is your e-mail address?', 500],
    ['four one five five five five two six seven one', 'What is your number?', 640],
    ['j o h n', 'How do you spell it?', 1300],
    ['john at gmail', 'What is your e-mail address?', 1300],
    ['john dot smith at gmail dot com', 'What is your e-mail?', 640],
    ['I want a table and', '', 1000],
    ['мой номер восемь девять', 'Какой у вас номер телефона?', 1300],
    ['запишите меня на', '', 1000],
  ])('waits after %j and %j about %i ms', (words, question, ms) => {
    const waited = waitFor(words, question)
    expect(waited).toBeGreaterThanOrEqual(ms - WINDOW)
    expect(waited).toBeLessThanOrEqual(ms + 2 * WINDOW)
  })

  it('is restarted when the caller continues; the prepared answer is discarded', () => {
    const scene = new Scene()
    scene.talk(700, 'I want a table').hush(350)
    expect(scene.types()).toEqual(['prepare'])
    scene.talk(600, 'I want a table for four.').hush(1000)
    expect(scene.types()).toEqual(['prepare', 'discard', 'prepare', 'commit'])
    expect(scene.commits()).toMatchObject([{ text: 'I want a table for four.' }])
  })

  it('of ten minutes is transcribed in parts without loss', () => {
    const scene = new Scene()
    const parts = 30
    for (let i = 0; i < parts; i++) scene.talk(PART_MS, `part ${i}`)
    scene.words = 'the end.'
    scene.hush(2000)
    const [commit] = scene.commits()
    expect(commit!.type === 'commit' && commit!.text.split('part').length).toBeGreaterThanOrEqual(parts - 1)
    expect(commit!.type === 'commit' && commit!.text).toMatch(/the end\.$/)
    const utterances = scene.log.flatMap(effect => (effect.type === 'transcribe' ? [effect.toMs - effect.fromMs] : []))
    expect(Math.max(...utterances)).toBeLessThanOrEqual(PART_MS + 1000)
  })
})

describe('unintelligible speech', () => {
  it('is transcribed again, within a limit', () => {
    const scene = new Scene()
    for (let i = 0; i < 4; i++) {
      scene.talk(900, '').hush(1500)
      if (scene.state.agent === 'busy') scene.agent(false, 'Sorry?')
    }
    expect(scene.types()).toEqual(['unclear', 'unclear'])
  })
  it('that is short causes no question', () => {
    const scene = new Scene().talk(200, '').hush(3000)
    expect(scene.types()).toEqual([])
    expect(scene.state.caller).toBeNull()
  })
  it('after an STT failure is questioned, however short', () => {
    const scene = new Scene()
    scene.failed = true
    scene.talk(200, '').hush(1500)
    expect(scene.types()).toEqual(['unclear'])
  })
  it('of minutes, such as music, does not disable prompts and hangup', () => {
    const scene = new Scene()
    scene.words = ''
    for (let ms = 0; ms < 90_000; ms += WINDOW) {
      scene.run(WINDOW, true)
      if (scene.log.at(-1)?.type === 'prompt' && scene.state.agent === 'busy') {
        scene.agent(true)
        scene.agent(false, 'Are you still there?')
      }
    }
    expect(scene.types()).toEqual(['prompt', 'prompt', 'give_up'])
  })
})

describe('a caller who never speaks', () => {
  it('is prompted twice, then hung up on', () => {
    const scene = new Scene()
    for (let i = 0; i < 3; i++) {
      scene.hush(SILENCE_PROMPT_MS + 100)
      if (scene.state.agent === 'busy') scene.agent(false, 'Are you still there?')
    }
    expect(scene.types()).toEqual(['prompt', 'prompt', 'give_up'])
  })
})

describe('typed text', () => {
  const type = (scene: Scene, text: string) => scene.feed({ type: 'typed', text, atMs: scene.nowMs })
  it('is a turn at once, also over the agent', () => {
    const scene = new Scene().agent(true)
    type(scene, 'Tomorrow at eight')
    expect(scene.types()).toEqual(['cut', 'commit'])
    expect(scene.commits()).toMatchObject([{ text: 'Tomorrow at eight', keys: false }])
    expect(scene.state).toMatchObject({ agent: 'busy', caller: null, prompts: 0 })
  })
  it('does not wait for pending transcription', () => {
    const scene = new Scene()
    scene.talk(400)
    type(scene, 'Eight')
    expect(scene.commits()).toHaveLength(1)
    expect(scene.state.caller).toBeNull()
  })
})

describe('keys', () => {
  const press = (scene: Scene, keys: string) => {
    for (const digit of keys) scene.feed({ type: 'key', digit, atMs: scene.nowMs })
    return scene
  }
  it('ends by # or a short pause', () => {
    const scene = press(new Scene(), '42#')
    expect(scene.commits()).toMatchObject([{ text: '42', keys: true }])
    scene.agent(false, 'Press one for sales.')
    press(scene, '1').hush(700)
    expect(scene.commits()).toHaveLength(2)
    scene.agent(false, 'Please enter your account number.')
    press(scene, '1').hush(700)
    expect(scene.commits()).toHaveLength(2)
    press(scene, '2').hush(2000)
    expect(scene.commits().at(-1)).toMatchObject({ text: '12' })
  })
  it('stops the agent at once', () => {
    const scene = press(new Scene().agent(true), '1')
    expect(scene.types()).toEqual(['cut'])
  })
  it('ends a turn of a held key', () => {
    expect(press(new Scene(), '1'.repeat(500)).commits().length).toBeGreaterThan(6)
  })
})
