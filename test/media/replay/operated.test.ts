/** A recorded call with whisper, takeover and return is replayed bit by bit. */
import { describe, expect, it } from 'vitest'
import { Conversation, type ConversationOptions } from '../../../media/agent/conversation.ts'
import type { CallEventBody } from '../../../media/contract/messages.ts'
import { createEnergyVad } from '../../../media/models/energy-vad.ts'
import { parseLog } from '../../../media/replay/log.ts'
import { play } from '../../../media/replay/player.ts'
import { ReplayRecorder } from '../../../media/replay/recorder.ts'
import { FetchError } from '../../../media/shared/fetch.ts'
import { text } from '../../fakes/conversation.ts'
import { FakeLine, fakeClock, settle } from '../../fakes/line.ts'
import { plan } from '../../fakes/plan.ts'
import { fakeLlm, fakeStt, fakeTts } from '../../fakes/speech.ts'
import { quietLog } from '../../support/world.ts'

/** The recorder delivers one thing a turn of the event loop. */
class PatientLine extends FakeLine {
  override async run(ms: number, speaking: boolean): Promise<void> {
    for (let done = 0; done < ms; done += 20) {
      await super.run(20, speaking)
      for (let i = 0; i < 8; i++) await settle()
    }
  }
}

async function record() {
  const lines: string[] = []
  const events: CallEventBody[] = []
  const clock = fakeClock()
  const options: ConversationOptions = {
    plan: plan({ direction: 'in', greeting: 'Hi there.' }),
    secrets: { tool_headers: {}, llm_api_key: null, vendor_keys: {} },
    sampleRate: 8000,
    clock,
    log: quietLog,
    vad: createEnergyVad(),
    stt: fakeStt(['A discount?', 'Who is that?', 'Thank you.']),
    tts: fakeTts(),
    llm: fakeLlm(({ system, messages }) => [
      text(system.includes('ten') ? `Ten percent, after ${messages.length} things that were said.` : 'No.'),
    ]),
    fetch: () => Promise.reject(new FetchError('network', 'none')),
    abilities: {},
    emit: event => events.push(event),
    onHangup: () => {},
  }
  const recorder = new ReplayRecorder(options, line => lines.push(line))
  const conversation = new Conversation({ ...options, ...recorder.edges })
  const operated = recorder.operated(conversation)
  const line = new PatientLine(recorder.sink(conversation), clock)
  recorder.start(() => conversation.start())
  await line.agentTurn()
  operated.instruct('Offer ten percent.')
  await line.caller(600)
  while (!line.agent.at(-1)) await line.silence(20)
  await line.silence(300)
  expect(operated.stepAside()).toBe(true)
  const cut = line.agent.length
  await line.silence(1000)
  expect(line.agent.slice(cut).some(Boolean)).toBe(false)
  operated.operatorSaid({ text: 'Anna here.', startMs: clock.now() - 900, endMs: clock.now() - 100 })
  await line.caller(600)
  await line.silence(12_000)
  operated.stepIn()
  await line.caller(600)
  await line.agentTurn()
  recorder.stop(() => conversation.stop())
  operated.operatorSaid({ text: 'Late words.', startMs: clock.now() - 900, endMs: clock.now() - 100 })
  await settle()
  return { log: lines.join('\n'), events }
}

describe('a recorded call with a takeover', () => {
  it('is played again to the same hash', async () => {
    const { log, events } = await record()
    const parsed = parseLog(log)
    const first = await play(parsed)
    expect(first.divergences).toEqual([])
    expect(first.events).toEqual(events)
    expect(first.turns.map(({ role }) => role)).toEqual([
      'agent',
      'caller',
      'agent',
      'operator',
      'caller',
      'caller',
      'agent',
      'operator',
    ])
    for (let i = 0; i < 5; i++) expect((await play(parsed)).hash).toBe(first.hash)
    const without = { ...parsed, entries: parsed.entries.filter(({ type }) => type !== 'stepAside') }
    expect((await play(without)).hash).not.toBe(first.hash)
  })
})
