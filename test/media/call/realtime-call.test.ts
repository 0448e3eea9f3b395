/** The kind of agent that a call gets by its plan, and that its record comes from the same transcript. */
import { describe, expect, it } from 'vitest'
import type { EngineBus } from '../../../media/bus/engine-bus.ts'
import { Call, type CallDeps } from '../../../media/call/call.ts'
import { type CallEventBody, CallRecord } from '../../../media/contract/messages.ts'
import type { LlmPlan } from '../../../media/contract/plan.ts'
import { createSealer } from '../../../media/contract/seal.ts'
import { createEnergyVad } from '../../../media/models/energy-vad.ts'
import type { Leg, LegEnd, LegSink } from '../../../media/ports/leg.ts'
import type { RealtimeModel, RealtimeOptions } from '../../../media/ports/realtime-model.ts'
import { FakeLine, fakeClock, settle } from '../../fakes/line.ts'
import { plan } from '../../fakes/plan.ts'
import { fakeLlm, fakeStt, fakeTts } from '../../fakes/speech.ts'
import { quietLog } from '../../support/world.ts'

/** The model as a port, without a vendor. */
function fakeModel() {
  const sessions: RealtimeOptions[] = []
  const model: RealtimeModel = {
    name: 'fake',
    open(options) {
      sessions.push(options)
      const nothing = () => {}
      return {
        push: nothing,
        addMessage: nothing,
        instruct: nothing,
        addToolResult: nothing,
        respond: nothing,
        cancel: nothing,
        truncate: nothing,
        close: nothing,
      }
    },
  }
  return { model, sessions }
}

async function call(planned: LlmPlan) {
  const clock = fakeClock()
  const events: CallEventBody[] = []
  const { model, sessions } = fakeModel()
  const llm = fakeLlm(() => [{ type: 'text', delta: 'Fine.' }])
  let end: (value: LegEnd) => void = () => {}
  const ended = new Promise<LegEnd>(resolve => (end = resolve))
  const media = { codec: 'PCMU', packets_sent: 1, packets_received: 1, packets_lost: 0, packets_late: 0 }
  let sink: LegSink | null = null
  const leg: Leg = {
    kind: 'sip',
    sampleRate: 8000,
    attach: given => (sink = given),
    ended,
    hangup: async reason => end({ by: 'local', reason }),
    stats: () => ({ ...media, packets_rejected: 0, jitter_ms: 0 }),
  }
  const deps: CallDeps = {
    bus: {
      engine: 'e',
      boot: 'b',
      emitter: () => async (event: CallEventBody) => void events.push(event),
      renewLease: async () => {},
      dropLease: async () => {},
    } as unknown as EngineBus,
    sealer: createSealer('0123456789abcdef'),
    dialer: { dial: async () => ({ ok: true, leg }) },
    clock,
    log: quietLog,
    vad: createEnergyVad(),
    sttFor: () => fakeStt(['Hello.']),
    ttsFor: () => fakeTts(),
    llmFor: () => llm,
    realtimeFor: given => (given.llm.provider === 'openai_realtime' ? model : null),
    fetch: () => Promise.reject(new Error('none')),
  }
  const running = Call.dial(plan({ greeting: 'Hi.', llm: planned, goal: 'A greeting' }), deps)
  await settle()
  const line = new FakeLine(sink!, clock)
  const record = () =>
    CallRecord.parse((events.find(event => event.type === 'call.ended') as { record: unknown } | undefined)?.record)
  return { running, line, sessions, llm, record, hangUp: () => end({ by: 'remote', reason: 'caller_hangup' }) }
}

describe('a call', () => {
  it('uses a realtime session, and a text model writes its record', async () => {
    const { running, line, sessions, llm, record, hangUp } = await call({
      provider: 'openai_realtime',
      model: 'gpt-realtime',
      voice: null,
    })
    await line.agentTurn()
    const [session] = sessions
    session!.onEvent({ type: 'caller_started' })
    await line.caller(400)
    session!.onEvent({ type: 'caller_done', item: 'i' })
    session!.onEvent({ type: 'caller_said', item: 'i', text: 'Hello.' })
    session!.onEvent({ type: 'answer_started', answer: 'a' })
    session!.onEvent({ type: 'words', answer: 'a', item: 's', delta: 'Welcome.' })
    session!.onEvent({ type: 'speech', answer: 'a', item: 's', pcm: new Int16Array(3200).fill(900), ulaw: null })
    session!.onEvent({ type: 'speech_done', answer: 'a', item: 's' })
    session!.onEvent({ type: 'answer_done', answer: 'a', broken: false })
    await line.agentTurn()
    hangUp()
    await running.done
    expect(record().transcript.map(({ role, heard_text }) => [role, heard_text])).toEqual([
      ['agent', 'Hi.'],
      ['caller', 'Hello.'],
      ['agent', 'Welcome.'],
    ])
    expect(record()).toMatchObject({ summary: 'A test.', goal_reached: true, status: 'completed' })
    expect(record().latency.turns).toHaveLength(1)
    expect(llm.requests).toEqual([])
  })

  it('opens no realtime session for other models', async () => {
    const { running, line, sessions, llm, hangUp } = await call({ provider: 'scripted' })
    await line.agentTurn()
    await line.caller(500)
    await line.agentTurn()
    hangUp()
    await running.done
    expect(sessions).toEqual([])
    expect(llm.requests.length).toBeGreaterThan(0)
  })
})
