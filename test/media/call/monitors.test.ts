/** Operators of a call with simulated time: a real conversation and line, a room controlled by the test. */
import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { Monitors, SHOWS_UP_MS, TRANSFER_WAIT_MS } from '../../../media/call/monitors.ts'
import type { CallEventBody, MonitorMode } from '../../../media/contract/messages.ts'
import { createSealer } from '../../../media/contract/seal.ts'
import { createEnergyVad } from '../../../media/models/energy-vad.ts'
import type { AudioFrame, LegSink } from '../../../media/ports/leg.ts'
import type { MonitorRoom, MonitorRoomOptions } from '../../../media/ports/rooms.ts'
import type { Stt } from '../../../media/ports/speech.ts'
import { answering, call as calls, type FakeTalk, openTalk, text, toolPlan } from '../../fakes/conversation.ts'
import { FakeLine, settle } from '../../fakes/line.ts'
import { fakeStt } from '../../fakes/speech.ts'
import { quietLog } from '../../support/world.ts'

const OPERATOR_LEVEL = 3000
let seed = 1
/** Noise of one level, so that the test recognises it in received audio. */
const voice = () =>
  Int16Array.from({ length: 160 }, () => {
    seed = (seed * 1_103_515_245 + 12_345) & 0x7fffffff
    return seed & 0x10000 ? OPERATOR_LEVEL : -OPERATOR_LEVEL
  })
const isOperator = (pcm: Int16Array | null) => pcm?.every(sample => Math.abs(sample) === OPERATOR_LEVEL) ?? false
const isSound = (pcm: Int16Array | null) => pcm?.some(sample => sample !== 0) ?? false

class FakeRoom implements MonitorRoom {
  readonly options: MonitorRoomOptions
  readonly there = new Set<string>()
  readonly played: (Int16Array | null)[] = []
  closed = 0
  constructor(options: MonitorRoomOptions) {
    this.options = options
  }
  identities = () => [...this.there]
  play = (pcm: Int16Array | null) => void this.played.push(pcm)
  async close() {
    this.closed++
  }
  enter(identity: string) {
    this.there.add(identity)
    this.options.onJoined(identity)
  }
  leave(identity: string) {
    this.there.delete(identity)
    this.options.onLeft(identity)
  }
}

interface Options extends FakeTalk {
  /** Utterances of operators, in order. */
  operatorSays?: string[]
  operatorStt?: Stt
  /** Number of failed attempts to join the room. */
  refusals?: number
}

async function world(options: Options = {}) {
  const events: CallEventBody[] = []
  const rooms: FakeRoom[] = []
  let refusals = options.refusals ?? 0
  let monitors: Monitors | null = null
  const talk = openTalk({
    ...options,
    abilities: {
      transfer: target => monitors!.waitForOperator(target.name),
      ...options.abilities,
    },
  })
  const { clock, conversation } = talk
  const callId = randomUUID()
  const sealer = createSealer('0123456789abcdef')
  const room = { url: 'ws://somewhere', name: 'call', sealed: sealer.seal({ token: 'a seat' }, callId) }
  monitors = new Monitors({
    callId,
    language: 'en',
    sampleRate: 8000,
    rooms: {
      join: () => Promise.reject(new Error('not asked for')),
      async openMonitor(asked) {
        expect(asked.seat).toEqual({ url: 'ws://somewhere', token: 'a seat' })
        if (refusals-- > 0) throw new Error('no room')
        rooms.push(new FakeRoom(asked))
        return rooms.at(-1)!
      },
    },
    sealer,
    clock,
    log: quietLog,
    vad: createEnergyVad(),
    stt: options.operatorStt ?? fakeStt(options.operatorSays ?? []),
    talk: conversation,
    emit: event => events.push(event),
  })
  const sink: LegSink = monitors.sink(conversation)
  /** Audio sent to the caller, one frame per entry. */
  const heard: (Int16Array | null)[] = []
  const line = new FakeLine({ ...sink, pull: atMs => heard[heard.push(sink.pull(atMs)) - 1] ?? null }, clock)
  const frame = (pcm: Int16Array): AudioFrame => ({ pcm, atMs: clock.now(), concealed: false })
  const operators = new Map<string, string>()
  const admit = (identity: string, mode: MonitorMode) => {
    const monitor_id = operators.get(identity) ?? randomUUID()
    operators.set(identity, monitor_id)
    monitors!.admit({ type: 'call.monitor', call_id: callId, monitor_id, mode, room, identity })
    return monitor_id
  }
  const w = {
    ...talk,
    line,
    monitors,
    rooms,
    heard,
    operatorEvents: events,
    types: () => events.map(({ type }) => type),
    admit,
    room: () => rooms.at(-1)!,
    dismiss: (identity: string) => monitors!.dismiss(operators.get(identity)!),
    /** There, with this right. */
    async enter(identity: string, mode: MonitorMode) {
      admit(identity, mode)
      await settle()
      rooms.at(-1)!.enter(identity)
    },
    async speaks(identity: string, ms: number, alsoCaller = false) {
      for (let done = 0; done < ms; done += 20) {
        rooms.at(-1)!.options.onSound(identity, frame(voice()))
        await line.run(20, alsoCaller)
      }
    },
    /** Sends silence of an open microphone. */
    async quiet(identity: string, ms: number) {
      for (let done = 0; done < ms; done += 20) {
        rooms.at(-1)!.options.onSound(identity, frame(new Int16Array(160)))
        await line.silence(20)
      }
    },
    said: () => talk.turns().map(turn => [turn.role, turn.heard_text || turn.text]),
  }
  return w
}

/** The greeting is over. */
async function talking(options: Options = {}) {
  const w = await world(options)
  await w.line.agentTurn()
  return w
}

describe('a listener', () => {
  it('receives both sides and is not heard', async () => {
    const w = await talking({ says: ['What is it?'], operatorSays: ['Hello?'] })
    await w.enter('anna', 'listen')
    expect(w.operatorEvents).toEqual([{ type: 'monitor.joined', monitor_id: expect.any(String), mode: 'listen' }])
    const caller = w.room().played.length
    await w.line.caller(600)
    expect(
      w
        .room()
        .played.slice(caller + 5)
        .filter(isSound).length,
    ).toBeGreaterThan(20)
    await w.line.agentTurn()
    expect(w.room().played.slice(-40).filter(isSound).length).toBeGreaterThan(10)
    const before = w.heard.length
    await w.speaks('anna', 2000)
    w.room().options.onText('anna', 'Say something else')
    await w.quiet('anna', 2000)
    expect(w.heard.slice(before).some(isSound)).toBe(false)
    expect(w.said().map(([role]) => role)).toEqual(['agent', 'caller', 'agent'])
    expect(w.types()).toEqual(['monitor.joined'])
    expect(w.conversation.request().system).not.toContain('Say something')
  })
})

describe('a whispering operator', () => {
  it('is received by the agent only, spoken or typed', async () => {
    const w = await talking({ says: ['How much is it?'], operatorSays: ['Offer ten percent.'] })
    await w.enter('anna', 'whisper')
    const before = w.heard.length
    await w.speaks('anna', 1500)
    await w.quiet('anna', 1500)
    w.room().options.onText('anna', ' And free delivery. ')
    expect(w.heard.slice(before).some(isSound)).toBe(false)
    expect(w.operatorEvents.slice(1)).toEqual([
      { type: 'monitor.whispered', monitor_id: expect.any(String), text: 'Offer ten percent.' },
      { type: 'monitor.whispered', monitor_id: expect.any(String), text: 'And free delivery.' },
    ])
    await w.line.caller(600)
    await w.line.agentTurn()
    expect(w.llm.requests.at(-1)!.system).toContain('Offer ten percent.\nAnd free delivery.')
    expect(w.said().map(([role]) => role)).toEqual(['agent', 'caller', 'agent'])
  })
})

describe('an operator who takes over', () => {
  const SAYS = ['I want a refund.', 'Yes, order seven.', 'And who are you?', 'Thank you.']

  it('replaces the agent, which transcribes and resumes afterwards', async () => {
    const w = await talking({ says: SAYS, operatorSays: ['This is Anna. Which order?'] })
    await w.line.caller(600)
    const before = w.line.agent.length
    while (!w.line.agent.at(-1) && w.line.agent.length < before + 250) await w.line.silence(20)
    await w.line.silence(100) // the agent is in its answer
    await w.enter('anna', 'takeover')
    const cut = w.heard.length
    await w.line.silence(200)
    expect(w.heard.slice(cut).some(isSound)).toBe(false)
    expect(w.turns().at(-1)).toMatchObject({ role: 'agent', interrupted: true })

    const began = w.heard.length
    const played = w.room().played.length
    await w.speaks('anna', 2000)
    await w.quiet('anna', 1500)
    expect(w.heard.slice(began).filter(isOperator).length).toBeGreaterThan(90)
    expect(w.room().played.slice(played).some(isSound)).toBe(false) // no echo of herself
    const asked = w.llm.requests.length
    await w.line.caller(600)
    await w.line.silence(60_000)
    await w.line.caller(600)
    await w.line.silence(60_000)
    expect(w.heard.slice(began + 120).some(isSound)).toBe(false)
    expect(w.llm.requests.length).toBe(asked)
    expect(w.ended).toEqual([])
    expect(w.said().slice(3)).toEqual([
      ['operator', 'This is Anna. Which order?'],
      ['caller', 'Yes, order seven.'],
      ['caller', 'And who are you?'],
    ])

    w.admit('anna', 'listen')
    expect(w.types()).toEqual(['monitor.joined', 'monitor.changed'])
    await w.line.caller(600)
    await w.line.agentTurn()
    const { messages } = w.llm.requests.at(-1)!
    expect(messages.slice(-2)).toEqual([
      { role: 'agent', text: 'This is Anna. Which order?', interrupted: false },
      { role: 'caller', text: 'Yes, order seven. And who are you? Thank you.' },
    ])
    const after = w.heard.length
    await w.speaks('anna', 500)
    expect(w.heard.slice(after).some(isOperator)).toBe(false)
  })

  it.each([
    ['leaves', (w: Awaited<ReturnType<typeof world>>) => w.room().leave('anna')],
    ['is shown out', (w: Awaited<ReturnType<typeof world>>) => w.dismiss('anna')],
    ['loses the room', (w: Awaited<ReturnType<typeof world>>) => w.room().options.onClosed()],
  ])('returns the call to the agent when she %s', async (_, gone) => {
    const w = await talking({ says: ['Hello.'] })
    await w.enter('anna', 'takeover')
    await w.line.silence(15_000)
    gone(w)
    expect(w.types()).toEqual(['monitor.joined', 'monitor.left'])
    await w.line.caller(600)
    await w.line.agentTurn()
    expect(w.agentTexts()).toEqual(['Hi there.', 'I see.'])
  })

  it('receives the current sentence of the caller; the agent answers the next', async () => {
    const w = await talking({ says: ['One two three.', 'Four five six.'] })
    await w.line.caller(800)
    await w.enter('anna', 'takeover')
    await w.line.caller(800)
    await w.line.silence(3000)
    expect(w.said().slice(1)).toEqual([['caller', 'One two three.']])
    await w.line.caller(800)
    w.room().leave('anna')
    await w.line.caller(400)
    await w.line.agentTurn()
    expect(w.said().slice(2)).toEqual([
      ['caller', 'Four five six.'],
      ['agent', 'I see.'],
    ])
    const [first, second] = w.turns().filter(turn => turn.role === 'caller')
    expect(first!.ended_ms - first!.started_ms).toBeGreaterThan(1500)
    expect(second!.ended_ms - second!.started_ms).toBeGreaterThan(1100)
  })

  it('yields to the next operator, and still receives audio', async () => {
    const w = await talking({ operatorSays: ['First.', 'Second.'] })
    await w.enter('anna', 'takeover')
    await w.speaks('anna', 800)
    await w.enter('boris', 'takeover')
    expect(w.operatorEvents.slice(-2)).toEqual([
      { type: 'monitor.joined', monitor_id: expect.any(String), mode: 'takeover' },
      { type: 'monitor.changed', monitor_id: expect.any(String), mode: 'listen' },
    ])
    const before = w.heard.length
    await w.speaks('anna', 400)
    expect(w.heard.slice(before + 1).some(isSound)).toBe(false)
    await w.speaks('boris', 400)
    expect(w.heard.slice(-10).every(isOperator)).toBe(true)
    w.room().leave('anna')
    await w.speaks('boris', 100)
    expect(isOperator(w.heard.at(-1)!)).toBe(true)
    w.room().leave('boris')
    await w.line.silence(2000)
    expect(w.said().filter(([role]) => role === 'operator').length).toBe(2)
  })

  it('interrupts the greeting', async () => {
    const w = await world({ says: ['Hello.'] })
    await w.line.silence(200)
    expect(w.line.agent.at(-1)).toBe(true)
    await w.enter('anna', 'takeover')
    await w.line.silence(5000)
    expect(w.line.agent.slice(-240).some(Boolean)).toBe(false)
    expect(w.turns()).toMatchObject([{ role: 'agent', interrupted: true }])
  })

  it('may precede answering detection, without a greeting', async () => {
    const stt = fakeStt(['Hello?', 'Who is there?'])
    const w = await world({ stt, plan: { voicemail: { action: 'hangup' } } })
    await w.line.caller(400)
    await w.line.silence(100)
    await w.enter('anna', 'takeover')
    await w.line.silence(12_000)
    expect(w.line.agent.some(Boolean)).toBe(false)
    expect(w.ended).toEqual([])
    await w.line.caller(600)
    await w.line.silence(2000)
    expect(w.said().at(-1)?.[0]).toBe('caller')
    w.room().leave('anna')
    await w.line.caller(600)
    await w.line.agentTurn()
    expect(w.ended).toEqual([])
  })

  it('is not interrupted by a late greeting', async () => {
    const waiting: (() => void)[] = []
    const stt: Stt = {
      open: () => ({
        push() {},
        close() {},
        transcribe: () => new Promise(resolve => waiting.push(() => resolve({ text: 'Hello?', confidence: 1 }))),
      }),
    }
    const w = await world({ stt, plan: { voicemail: { action: 'hangup' } } })
    await w.line.caller(400)
    await w.line.silence(600)
    expect(waiting.length).toBeGreaterThan(0)
    await w.enter('anna', 'takeover')
    for (const read of waiting) read()
    await w.line.silence(5000)
    expect(w.line.agent.some(Boolean)).toBe(false)
    expect(w.ended).toEqual([])
  })

  it('does not receive a call during the goodbye', async () => {
    const w = await talking({ operatorSays: ['Wait!'] })
    w.conversation.endWith('Goodbye.', 'max_duration')
    await w.line.silence(60)
    await w.enter('anna', 'takeover')
    const before = w.heard.length
    await w.speaks('anna', 900)
    expect(w.heard.slice(before).some(isOperator)).toBe(false)
    await w.line.silence(500)
    expect(w.ended).toEqual(['max_duration'])
    expect(w.said().at(-1)).toEqual(['agent', 'Goodbye.'])
  })

  it('is interrupted by the goodbye of the call', async () => {
    const w = await talking()
    await w.enter('anna', 'takeover')
    await w.line.silence(1000)
    w.conversation.endWith('Goodbye.', 'balance_exhausted')
    await w.line.agentTurn()
    await w.line.silence(500)
    expect(w.ended).toEqual(['balance_exhausted'])
    expect(w.said().at(-1)).toEqual(['agent', 'Goodbye.'])
    expect(w.room().played.slice(-100).some(isSound)).toBe(true)
  })

  it('lets a running tool finish silently on the record', async () => {
    const w = await talking({
      says: ['Look it up.', 'Well?'],
      plan: { tools: [toolPlan({ filler: [{ after_ms: 300, text: 'One moment please.' }] })] },
      replies: ({ messages }) => (messages.at(-1)!.role === 'caller' ? [calls('look_up')] : [text('It is blue.')]),
      fetch: answering({ things: { ms: 5000 } }),
    })
    await w.line.caller(600)
    await w.line.silence(1600)
    expect(w.line.agent.at(-1)).toBe(true) // the filler
    await w.enter('anna', 'takeover')
    const before = w.line.agent.length
    await w.line.silence(10_000)
    expect(w.line.agent.slice(before).some(Boolean)).toBe(false)
    expect(w.tools()).toMatchObject([{ name: 'look_up', status: 'ok' }])
    w.room().leave('anna')
    await w.line.silence(3000)
    expect(w.line.agent.slice(before).some(Boolean)).toBe(false)
    expect(w.llm.requests.length).toBe(1)
  })

  it('has no effect after the call', async () => {
    const w = await talking()
    await w.enter('anna', 'listen')
    w.conversation.stop()
    w.admit('anna', 'takeover')
    await w.speaks('anna', 400)
    expect(w.heard.slice(-10).some(isSound)).toBe(false)
    await w.monitors.close()
    expect(w.types()).toEqual(['monitor.joined', 'monitor.changed', 'monitor.left'])
  })
})

describe('the operators’ room', () => {
  it('is retried while an operator is expected', async () => {
    const w = await talking({ refusals: 2 })
    w.admit('anna', 'listen')
    await w.line.silence(1000)
    expect(w.rooms.length).toBe(0)
    await w.line.silence(5000)
    expect(w.rooms.length).toBe(1)
    w.room().enter('anna')
    await w.enter('boris', 'listen')
    expect(w.rooms.length).toBe(1)
    w.room().leave('anna')
    w.dismiss('boris')
    expect(w.room().closed).toBe(0)
    await w.line.silence(SHOWS_UP_MS + 100)
    expect(w.room().closed).toBe(1)
    await w.enter('anna', 'listen')
    expect(w.rooms.length).toBe(2)
  })

  it('is left when empty, and admits reconnects', async () => {
    const w = await talking()
    await w.enter('anna', 'listen')
    w.room().leave('anna')
    await w.line.silence(SHOWS_UP_MS - 5000)
    w.room().enter('anna')
    expect(w.types()).toEqual(['monitor.joined', 'monitor.left', 'monitor.joined'])
    await w.line.silence(10_000)
    expect(w.room().closed).toBe(0)
    w.room().enter('a stranger')
    expect(w.types().length).toBe(3)
  })

  it('contains those who joined before the engine', async () => {
    const w = await talking()
    w.admit('anna', 'takeover')
    w.rooms[0]?.there.add('anna')
    await settle()
    w.room().there.add('anna')
    w.room().options.onJoined('anna')
    w.room().options.onJoined('anna')
    expect(w.types()).toEqual(['monitor.joined'])
  })
})

describe('the end of the call', () => {
  it('waits briefly for transcription, and reports who left', async () => {
    const hangs: Stt = {
      open: () => ({ push() {}, close() {}, transcribe: () => new Promise(() => {}) }),
    }
    const w = await talking({ operatorStt: hangs })
    await w.enter('anna', 'takeover')
    await w.speaks('anna', 1000)
    const beganMs = w.clock.now()
    let closedMs = 0
    void w.monitors.close().then(() => (closedMs = w.clock.now()))
    void w.monitors.close()
    await w.line.silence(2000)
    expect(closedMs - beganMs).toBeLessThanOrEqual(1020)
    expect(w.types()).toEqual(['monitor.joined', 'monitor.left'])
    expect(w.room().closed).toBe(1)
    w.admit('boris', 'listen')
    await settle()
    expect(w.rooms.length).toBe(1)
  })

  it('stores the last transcribed words', async () => {
    const w = await talking({ operatorSays: ['Goodbye then.'] })
    await w.enter('anna', 'takeover')
    await w.speaks('anna', 1000)
    w.conversation.stop()
    await w.monitors.close()
    expect(w.said().at(-1)).toEqual(['operator', 'Goodbye then.'])
    expect(w.types().at(-1)).toBe('monitor.left')
  })
})

describe('a transfer to the browser', () => {
  const transfers = [{ name: 'support', to: 'browser', description: 'People', announce: null }]
  const replies: NonNullable<Options['replies']> = ({ messages }) => {
    const last = messages.at(-1)!
    if (last.role === 'caller') return [text('I connect you.'), calls('transfer_call', { to: 'support' })]
    return [text('I am sorry, nobody is free.')]
  }
  const asking = async (options: Options = {}) => {
    const w = await talking({ says: ['A person, please.'], plan: { transfers }, replies, ...options })
    await w.line.caller(600)
    await w.line.agentTurn()
    expect(w.types()).toEqual(['transfer.waiting'])
    return w
  }

  it('waits for an operator', async () => {
    const w = await asking({ operatorSays: ['Support here.'] })
    await w.enter('anna', 'listen')
    expect(w.types().at(-1)).toBe('monitor.joined')
    w.admit('anna', 'takeover')
    expect(w.types().slice(2)).toEqual(['monitor.changed', 'transfer.settled'])
    expect(w.operatorEvents.at(-1)).toEqual({ type: 'transfer.settled', name: 'support', accepted: true })
    const before = w.llm.requests.length
    await w.speaks('anna', 1000)
    await w.line.silence(TRANSFER_WAIT_MS)
    expect(w.tools()).toMatchObject([{ name: 'transfer_call', status: 'ok' }])
    expect(w.llm.requests.length).toBe(before)
    expect(w.said().at(-1)).toEqual(['operator', 'Support here.'])
  })

  it('fails when nobody joins, and the agent says so', async () => {
    const w = await asking()
    await w.line.silence(TRANSFER_WAIT_MS - 5000)
    expect(w.types()).toEqual(['transfer.waiting'])
    await w.line.silence(10_000)
    expect(w.operatorEvents.at(-1)).toEqual({ type: 'transfer.settled', name: 'support', accepted: false })
    expect(w.tools()).toMatchObject([{ name: 'transfer_call', status: 'failed' }])
    expect(w.agentTexts().at(-1)).toContain('nobody is free')
  })

  it('ends with the call', async () => {
    const w = await asking()
    w.conversation.stop()
    await w.monitors.close()
    await w.conversation.settled()
    expect(w.operatorEvents.at(-1)).toEqual({ type: 'transfer.settled', name: 'support', accepted: false })
    expect(w.tools()).toMatchObject([{ name: 'transfer_call' }])
  })

  it('succeeds at once when an operator is connected', async () => {
    const w = await talking()
    await w.enter('anna', 'takeover')
    expect(await w.monitors.waitForOperator('support')).toEqual({ ok: true })
    expect(w.types()).toEqual(['monitor.joined'])
  })
})
