/**
 * A call is recorded at its inputs and outputs, with the real timing of this machine, and replayed through the real
 * conversation.
 */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../infra/adapters/clock.ts'
import { Conversation } from '../../../media/agent/conversation.ts'
import type { ConversationOptions } from '../../../media/agent/conversation-options.ts'
import type { CallEventBody } from '../../../media/contract/messages.ts'
import { createEnergyVad } from '../../../media/models/energy-vad.ts'
import type { LegSink } from '../../../media/ports/leg.ts'
import type { LlmRequest } from '../../../media/ports/llm.ts'
import { differences } from '../../../media/replay/compare.ts'
import { parseLog } from '../../../media/replay/log.ts'
import { play } from '../../../media/replay/player.ts'
import { ReplayRecorder } from '../../../media/replay/recorder.ts'
import { FetchError } from '../../../media/shared/fetch.ts'
import { call, text, toolPlan } from '../../fakes/conversation.ts'
import { plan } from '../../fakes/plan.ts'
import { fakeLlm, fakeStt, fakeTts } from '../../fakes/speech.ts'
import { quietLog } from '../../support/world.ts'

const FRAME = 160
const voice = () => Int16Array.from({ length: FRAME }, () => (Math.random() < 0.5 ? 7000 : -7000))
const sleep = (ms: number) => new Promise(resolve => setTimeout(resolve, ms))

/** By the prompt, as a model would. */
const answers = ({ system, messages }: LlmRequest) => {
  const last = messages.at(-1)!
  if (last.role === 'tool') return [text(`It is ${last.result}. `), text('Anything else?')]
  if (last.role === 'caller' && /weather/.test(last.text)) return [call('look_up', { day: 'today' })]
  return [text(system.includes('formal') ? 'Certainly, madam, with the greatest pleasure. ' : 'Sure. '), text('Bye.')]
}
const slowly = (reply: typeof answers) => async (request: LlmRequest) => {
  await sleep(Math.random() * 30)
  return reply(request)
}

/** A real-time call of some seconds, four frames at a time so that packets come in bursts as they do. */
async function record(): Promise<{ log: string; events: CallEventBody[] }> {
  const lines: string[] = []
  const events: CallEventBody[] = []
  const options: ConversationOptions = {
    plan: plan({
      direction: 'in',
      greeting: 'Hi there.',
      tools: [toolPlan({ filler: [{ after_ms: 100, text: 'Wait.' }] })],
    }),
    secrets: { tool_headers: {}, llm_api_key: null } as never,
    sampleRate: 8000,
    clock: systemClock,
    log: quietLog,
    vad: createEnergyVad(),
    stt: fakeStt(['What is the weather?', 'Thanks, and the news please.', 'Stop.']),
    tts: fakeTts(),
    llm: fakeLlm(slowly(answers)),
    fetch: async request => {
      // On a busy machine both timers may fire at once, and an answer in time needs no filler phrase.
      while (!events.some(event => event.type === 'filler.spoken')) await sleep(20)
      await sleep(300)
      if (request.url.includes('never')) throw new FetchError('network', 'no')
      return {
        status: 200,
        headers: { 'content-type': 'application/json' },
        body: Buffer.from('"sunny"'),
        url: request.url,
      }
    },
    abilities: {},
    emit: event => events.push(event),
    onHangup: () => {},
  }
  const recorder = new ReplayRecorder(options, line => lines.push(line))
  const conversation = new Conversation({ ...options, ...recorder.edges })
  const sink: LegSink = recorder.sink(conversation)
  recorder.start(() => conversation.start())
  let frames = 0
  const pass = async (ms: number, speaking: boolean) => {
    for (let done = 0; done < ms; done += 40) {
      await sleep(4) // ten times as fast as a telephone: the clock of the call is the machine's
      for (let i = 0; i < 2; i++) {
        frames++
        sink.push({ pcm: speaking ? voice() : new Int16Array(FRAME), atMs: systemClock.now(), concealed: false })
        sink.pull(systemClock.now())
      }
    }
  }
  await pass(1000, false)
  for (let turn = 0; turn < 3; turn++) {
    await pass(2500, true)
    await pass(12_000, false)
  }
  sink.dtmf('5')
  sink.dtmf('#')
  await pass(6000, false)
  recorder.stop(() => conversation.stop())
  expect(frames).toBeGreaterThan(1000)
  return { log: `${lines.join('\n')}\n`, events }
}

describe('a recorded call', () => {
  it('is deterministic over a hundred replays', async () => {
    const { log, events } = await record()
    const parsed = parseLog(log)
    const first = await play(parsed)
    expect(first.divergences).toEqual([])
    expect(first.events.filter(event => event.type === 'turn.finished').length).toBeGreaterThanOrEqual(5)
    expect(first.events.some(event => event.type === 'filler.spoken')).toBe(true)
    expect(first.events).toEqual(events)
    const hashes = new Set<string>()
    for (let i = 0; i < 100; i++) hashes.add((await play(parsed)).hash)
    expect([...hashes]).toEqual([first.hash])
  }, 300_000)

  it('shows the effect of another prompt', async () => {
    const { log } = await record()
    const parsed = parseLog(log)
    const before = await play(parsed)
    const after = await play(parsed, { plan: { prompt: 'Be formal.' }, llm: fakeLlm(answers) })
    expect(after.divergences.length).toBeGreaterThan(0)
    const found = differences(before.events, after.events)
    expect(found.some(({ after: said }) => /Certainly, madam/.test(said ?? ''))).toBe(true)
    expect(differences(before.events, before.events)).toEqual([])
  }, 180_000)

  it('is replayed by `npm run replay`, which shows the effect of another prompt', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'parley-replay-'))
    try {
      const [file, prompt] = [join(folder, 'call.jsonl'), join(folder, 'prompt.txt')]
      writeFileSync(file, (await record()).log)
      writeFileSync(prompt, 'Be formal.')
      const main = fileURLToPath(new URL('../../../infra/bin/replay.ts', import.meta.url))
      const run = (...args: string[]) => promisify(execFile)(process.execPath, [main, ...args])
      const { stdout } = await run(file, '--prompt', prompt)
      expect(stdout).toMatch(
        /agent {3}Hi there\.[\s\S]*Replayed 2 times, identical[\s\S]*With the change:[\s\S]*\+ agent/,
      )
      await expect(run(prompt)).rejects.toMatchObject({ code: 2, stderr: expect.stringContaining('Line 1') })
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  }, 180_000)

  it('that is invalid is rejected with the line', () => {
    expect(() => parseLog('nonsense')).toThrow('Line 1')
    expect(() => parseLog('{"v":1}')).toThrow(/Line 1 is not a valid log header/)
  })
})
