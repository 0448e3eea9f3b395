/** Beginning of an outbound call without a network: the answering party is scripted, the detector is real. */
import { describe, expect, it } from 'vitest'
import type { CallPlan } from '../../../media/contract/plan.ts'
import type { Stt } from '../../../media/ports/speech.ts'
import { type FakeTalk, openTalk, text } from '../../fakes/conversation.ts'

/** Hears the same words whatever is asked. */
const stt = (words: () => string): Stt => ({
  open: () => ({ push() {}, close() {}, transcribe: async () => ({ text: words(), confidence: null }) }),
})
const beep = (ms = 400) => new Int16Array(8 * ms).map((_, i) => 8000 * Math.sin((2 * Math.PI * 1000 * i) / 8000))

const LEAVE: CallPlan['voicemail'] = { action: 'leave_message', text: 'Please call us back.' }
function dialed(says: string | (() => string), changes: Partial<CallPlan> = {}, more: FakeTalk = {}) {
  const words = typeof says === 'string' ? () => says : says
  return openTalk({
    stt: stt(words),
    plan: { direction: 'out', greeting: 'Hi, this is Ann.', voicemail: { action: 'hangup' }, ...changes },
    ...more,
  })
}

describe('a person who answers', () => {
  it('is greeted within a second after the hello', async () => {
    const { line, turns, conversation } = dialed('Hello?')
    await line.silence(400)
    await line.caller(500)
    const endedMs = 900
    await line.agentTurn()
    expect(turns().map(turn => [turn.role, turn.heard_text])).toEqual([
      ['caller', 'Hello?'],
      ['agent', 'Hi, this is Ann.'],
    ])
    expect(turns()[1]!.started_ms - endedMs).toBeLessThanOrEqual(800)
    expect(conversation.answeredBy).toBe('human')
  })

  it('who stays silent is greeted', async () => {
    const { line, turns, conversation } = dialed('')
    await line.agentTurn(4000)
    expect(turns()[0]).toMatchObject({ role: 'agent', heard_text: 'Hi, this is Ann.' })
    expect(turns()[0]!.started_ms).toBeLessThan(3000)
    expect(conversation.answeredBy).toBe('unknown')
  })

  it('hears the disclosure first', async () => {
    const { line, turns } = dialed('Hello?', { disclosure: 'I am a machine.' })
    await line.silence(400)
    await line.caller(500)
    await line.agentTurn()
    expect(turns()[1]!.heard_text).toBe('I am a machine. Hi, this is Ann.')
  })

  it('may say "message" without being taken for a machine', async () => {
    let words = 'Hello?'
    const { line, turns, ended } = dialed(() => words, {}, { replies: () => [text('I see.')] })
    await line.silence(200)
    await line.caller(500)
    await line.agentTurn()
    for (const said of ['I am fine.', 'What do you want?', 'Please leave a message after the tone, I am joking.']) {
      words = said
      await line.caller(700)
      await line.agentTurn()
    }
    expect(turns().filter(turn => turn.role === 'caller')).toHaveLength(4)
    expect(ended).toEqual([])
  })

  it.each([
    ['', 'What are your opening hours?'],
    ['Hello?', 'I would like to leave a message for John.'],
    ['Hello?', 'Please state your name.'],
  ])('who said %j and answers the greeting with %j counts as a person', async (first, then) => {
    let words = first
    const { line, ended, turns } = dialed(() => words)
    if (first) await line.caller(500)
    await line.agentTurn(4000)
    await line.silence(300)
    words = then
    await line.caller(2500)
    await line.agentTurn()
    expect(ended).toEqual([])
    expect(turns().at(-1)!.heard_text).toBe('I see.')
  })

  it('is greeted at once on inbound calls and without detection', async () => {
    for (const changes of [{ voicemail: { action: 'ignore' as const } }, { direction: 'in' as const }]) {
      const { line, turns } = dialed('', changes)
      await line.agentTurn()
      expect(turns()[0]!.started_ms).toBeLessThan(100)
    }
  })
})

const VOICEMAIL = 'Hi, you have reached Bob. Please leave a message after the tone.'

describe('a voicemail', () => {
  it('is hung up on without a message', async () => {
    const { line, ended, turns, conversation } = dialed(VOICEMAIL)
    await line.silence(300)
    await line.caller(3000)
    expect(ended).toContain('voicemail_hangup')
    expect(turns().filter(turn => turn.role === 'agent')).toEqual([])
    expect(conversation.answeredBy).toBe('machine')
  })

  it('receives the message after the beep, with the AI disclosure first', async () => {
    const { line, ended, turns } = dialed(VOICEMAIL, { voicemail: LEAVE, disclosure: 'I am a machine.' })
    await line.silence(300)
    await line.caller(4000)
    await line.silence(300)
    expect(line.agent.some(Boolean)).toBe(false)
    await line.play(beep())
    await line.agentTurn()
    await line.silence(400)
    expect(turns().at(-1)!.heard_text).toBe('I am a machine. Please call us back.')
    expect(ended).toEqual(['voicemail_left'])
  })

  it('that never beeps receives the message after silence', async () => {
    const { line, ended } = dialed(VOICEMAIL, { voicemail: LEAVE })
    await line.caller(3000)
    await line.agentTurn(6000)
    await line.silence(400)
    expect(ended).toEqual(['voicemail_left'])
  })

  it('that sounded like a person interrupts the agent when identified', async () => {
    let words = 'Hello.'
    const { line, ended, turns } = dialed(() => words, {
      voicemail: LEAVE,
      greeting: 'Hi, this is Ann, and I talk on.',
    })
    await line.caller(500)
    while (!line.agent.at(-1)) await line.silence(20)
    words = 'Hello. Please leave a message after the tone.'
    await line.caller(1500)
    expect(turns().some(turn => turn.role === 'agent' && turn.interrupted)).toBe(true)
    await line.silence(200)
    await line.play(beep())
    await line.agentTurn()
    await line.silence(400)
    expect(ended).toEqual(['voicemail_left'])
    expect(turns().at(-1)!.heard_text).toBe('Please call us back.')
  })
})

describe('other machines', () => {
  it('call screening is told who calls', async () => {
    const { line, conversation, turns, ended } = dialed(
      'Hi, if you record your name and reason for calling, I will see if this person is available.',
    )
    await line.caller(3500)
    await line.agentTurn()
    expect(turns().at(-1)!.heard_text).toBe('Hi, this is Ann.')
    expect(conversation.answeredBy).toBe('screening')
    expect(ended).toEqual([])
  })
  it('call screening first taken for voicemail is answered', async () => {
    let words = 'Hello.'
    const { line, ended, turns } = dialed(() => words, {
      voicemail: LEAVE,
      greeting: 'Hi, this is Ann, and I talk on.',
    })
    await line.caller(500)
    while (!line.agent.at(-1)) await line.silence(20)
    words = 'The person you are calling is not available. Please leave a message.'
    await line.caller(900)
    words = 'Please record your name and reason for calling, I will see if this person is available.'
    await line.caller(1500)
    await line.agentTurn(10_000)
    expect(turns().at(-1)!.heard_text).toBe('Hi, this is Ann, and I talk on.')
    expect(ended).toEqual([])
  })
  const MENU = 'Thank you for calling. For sales, press one. For support, press two.'
  it('an IVR is hung up on by the scripted policy', async () => {
    const { line, ended } = dialed(MENU)
    await line.caller(5000)
    expect(ended).toContain('voicemail_hangup')
  })
  it('an IVR is answered by a model', async () => {
    const llm: CallPlan['llm'] = { provider: 'openai_compatible', base_url: 'https://llm.example/v1', model: 'm' }
    const { line, turns, ended } = dialed(MENU, { llm }, { replies: () => [text('One.')] })
    await line.caller(5000)
    await line.agentTurn()
    expect(turns().at(-1)!.heard_text).toBe('One.')
    expect(ended).toEqual([])
  })
})
