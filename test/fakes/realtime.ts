/**
 * A conversation with a speech-to-speech model over a simulated line. The model's socket and server are real: after
 * each frame all their messages are read, so that the simulated clock applies to them too.
 */
import { RealtimeConversation } from '../../media/agent/realtime.ts'
import type { CallEventBody, EndedReason } from '../../media/contract/messages.ts'
import { createEnergyVad } from '../../media/models/energy-vad.ts'
import { createOpenAiRealtime } from '../../media/models/openai-realtime.ts'
import { FetchError } from '../../media/shared/fetch.ts'
import { recordingLog } from '../support/world.ts'
import type { FakeTalk } from './conversation.ts'
import { FakeLine, fakeClock, settle } from './line.ts'
import { plan } from './plan.ts'
import { fakeLlm, fakeStt, fakeTts } from './speech.ts'
import { startFakeRealtime } from './vendors/openai-realtime.ts'
import { until } from './vendors/ws-vendor.ts'

class SyncedLine extends FakeLine {
  /** For each frame, the µ-law bytes that passed unchanged from the model, or null. */
  readonly ulaw: (Uint8Array | null)[] = []
  readonly #sync: () => Promise<void>
  readonly #talk: RealtimeConversation

  constructor(talk: RealtimeConversation, clock: ReturnType<typeof fakeClock>, sync: () => Promise<void>) {
    super(talk, clock)
    this.#talk = talk
    this.#sync = sync
  }

  override async run(ms: number, speaking: boolean): Promise<void> {
    for (let done = 0; done < ms; done += 20) {
      await super.run(20, speaking)
      this.ulaw.push(this.#talk.ulaw())
      await this.#sync()
      await settle()
    }
  }
}

export async function openRealtime(options: FakeTalk = {}) {
  const { says = [], replies = () => [{ type: 'text' as const, delta: 'I see.' }], fetch, abilities = {} } = options
  const server = await startFakeRealtime()
  const clock = fakeClock()
  const log = recordingLog()
  const events: CallEventBody[] = []
  const ended: EndedReason[] = []
  const tts = options.tts ?? fakeTts()
  const llm = fakeLlm(replies)
  const talk = new RealtimeConversation({
    plan: plan({
      direction: 'in',
      greeting: 'Hi there.',
      llm: { provider: 'openai_realtime', model: 'gpt-realtime', voice: 'marin' },
      ...options.plan,
    }),
    secrets: { tool_headers: {}, llm_api_key: 'sk-secret', vendor_keys: {} },
    sampleRate: 8000,
    clock,
    log,
    vad: createEnergyVad(),
    stt: options.stt ?? fakeStt(says),
    tts,
    llm,
    realtime: createOpenAiRealtime({
      url: server.baseUrl,
      apiKey: 'sk-secret',
      model: 'gpt-realtime',
      voice: 'marin',
      clock,
      log,
    }),
    fetch: fetch?.(clock) ?? (() => Promise.reject(new FetchError('network', 'no network in this test'))),
    abilities,
    emit: event => events.push(event),
    onHangup: reason => ended.push(reason),
    ...(options.show ? { show: options.show } : {}),
  })
  const line = new SyncedLine(talk, clock, () => server.sync())
  const updates = () => server.events.filter(event => event.type === 'session.update').length
  const ready = (nth = 1) => until('a session', () => updates() >= nth).then(() => server.sync())
  const turns = () => talk.transcript.turns
  return {
    server,
    clock,
    log,
    talk,
    line,
    events,
    ended,
    tts,
    llm,
    ready,
    turns,
    sent: (type: string) => server.events.filter(event => event.type === type),
    said: () => turns().map(turn => [turn.role, turn.heard_text || turn.text]),
    async close() {
      talk.stop()
      await until('all sockets closed', () => server.open() === 0)
      await server.close()
    },
  }
}
