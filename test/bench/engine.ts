/**
 * The agent's side of the conversation benchmark, in a separate process: real RTP sessions, conversations and VAD, with
 * STT, TTS and language model that take no time, or the offline ones.
 */
import { createSocket, type Socket } from 'node:dgram'
import { systemClock } from '../../infra/adapters/clock.ts'
import { Conversation } from '../../media/agent/conversation.ts'
import { createScripted } from '../../media/models/scripted/scripted.ts'
import { createSpeechClient, type SpeechClient } from '../../media/models/speech/client.ts'
import type { LlmEvent, LlmRequest } from '../../media/ports/llm.ts'
import type { Stt } from '../../media/ports/speech.ts'
import { createPacer } from '../../media/rtp/pacer.ts'
import { openRtp, type RtpSession } from '../../media/rtp/session.ts'
import type { Fetch } from '../../media/shared/fetch.ts'
import { toolPlan } from '../fakes/conversation.ts'
import { plan } from '../fakes/plan.ts'
import { fakeLlm, fakeTts } from '../fakes/speech.ts'
import { quietLog } from '../support/world.ts'
import { monotonicMs, serve } from './rpc.ts'

export type Agent = 'short' | 'long' | 'tool' | 'offline'

const LONG = 'This answer goes on for much longer than anybody who has something to say would ever listen to it.'
/** Chosen so that due times are spread between two frames. */
const FILLER_AFTER_MS = [400, 433, 467, 511, 554]
const TOOL_MS = 1000

interface Talk {
  rtp: RtpSession
  conversation: Conversation
  /** The text that scripted STT returns. */
  text: string
  /** When the fillers of started tools are due. */
  fillerDueMs: number[]
  ended: string | null
}

const clock = systemClock
const pacer = createPacer(clock)
const talks = new Map<number, Talk>()
let speech: SpeechClient
let echo: Socket | null = null

const sttReady = (talk: Talk): Stt => ({
  open: () => ({ push() {}, close() {}, transcribe: async () => ({ text: talk.text, confidence: 1 }) }),
})

function answer(agent: Agent, { messages }: LlmRequest): LlmEvent[] {
  const called = messages.filter(message => message.role === 'tool').length
  if (agent === 'tool' && messages.at(-1)?.role === 'caller') {
    const name = `look_up_${called % FILLER_AFTER_MS.length}`
    return [{ type: 'tool', id: `${called}`, name, arguments: {} }]
  }
  return [{ type: 'text', delta: agent === 'long' ? LONG : 'I see.' }]
}

const fetchIn =
  (ms: number): Fetch =>
  ({ url }) =>
    new Promise(resolve =>
      setTimeout(
        () =>
          resolve({
            status: 200,
            headers: { 'content-type': 'application/json' },
            body: Buffer.from('{"ok":true}'),
            url,
          }),
        ms,
      ),
    )

const fillerTools = FILLER_AFTER_MS.map((after_ms, i) =>
  toolPlan({ name: `look_up_${i}`, filler: [{ after_ms, text: 'One moment.' }] }),
)
const reservation = toolPlan({
  name: 'book_table',
  description: 'Book a table at the restaurant',
  method: 'POST',
  parameters: {
    type: 'object',
    properties: {
      people: { type: 'integer', description: 'How many people' },
      date: { type: 'string', format: 'date', description: 'Which day' },
      time: { type: 'string', format: 'time', description: 'What time' },
      name: { type: 'string', description: 'Name for the reservation' },
    },
    required: ['people', 'date', 'time', 'name'],
  },
})

function planFor(agent: Agent) {
  if (agent === 'offline') return plan({ greeting: 'Good evening, how can I help you?', tools: [reservation] })
  return plan({ greeting: agent === 'long' ? LONG : 'Hello.', tools: agent === 'tool' ? fillerTools : [] })
}

const handlers = {
  async connect({ port }: { port: number }): Promise<void> {
    speech = createSpeechClient({ host: '127.0.0.1', port, clock, log: quietLog })
    await speech.ready
    if (!speech.sttReady()) throw new Error('Speech models are not installed')
  },
  async open({ id, port, agent }: { id: number; port: number; agent: Agent }): Promise<number> {
    const rtp = await openRtp({ host: '127.0.0.1', ports: { min: 0, max: 0 }, clock, pacer, log: quietLog })
    const talk: Talk = { rtp, conversation: null!, text: '', fillerDueMs: [], ended: null }
    const offline = agent === 'offline'
    talk.conversation = new Conversation({
      plan: planFor(agent),
      secrets: { tool_headers: {}, llm_api_key: null, vendor_keys: {} },
      sampleRate: 8000,
      clock,
      log: quietLog,
      vad: speech.vad,
      stt: offline ? speech.stt : sttReady(talk),
      tts: offline ? speech.tts : fakeTts(),
      llm: offline ? createScripted({ confirms: () => true }) : fakeLlm(request => answer(agent, request)),
      fetch: fetchIn(offline ? 0 : TOOL_MS),
      abilities: {},
      emit: body => {
        const tool = body.type === 'tool.started' ? fillerTools.find(({ name }) => name === body.name) : undefined
        if (tool) talk.fillerDueMs.push(monotonicMs() + tool.filler![0]!.after_ms)
      },
      onHangup: reason => {
        talk.ended = reason
      },
    })
    talks.set(id, talk)
    const remote = { address: '127.0.0.1', port }
    rtp.configure({ remote, codec: 'PCMU', payloadType: 0, dtmfPayloadType: null, direction: 'sendrecv' })
    rtp.attach(talk.conversation)
    talk.conversation.start()
    return rtp.local.port
  },
  text({ id, text }: { id: number; text: string }): void {
    talks.get(id)!.text = text
  },
  look({ id }: { id: number }): { fillerDueMs: number[]; ended: string | null; turns: string[] } {
    const { fillerDueMs, ended, conversation } = talks.get(id)!
    return { fillerDueMs, ended, turns: conversation.transcript.turns.map(turn => `${turn.role}: ${turn.text}`) }
  },
  close({ id }: { id: number }): void {
    const talk = talks.get(id)!
    talk.conversation.stop()
    talk.rtp.close()
    talks.delete(id)
  },
  echo(): Promise<number> {
    return new Promise(resolve => {
      const socket = createSocket('udp4')
      echo = socket
      socket.on('message', (data, from) => socket.send(data, from.port, from.address))
      socket.bind(0, '127.0.0.1', () => resolve(socket.address().port))
    })
  },
  stopEcho(): void {
    echo?.close()
    echo = null
  },
}
export type EngineHandlers = typeof handlers
serve(handlers)
