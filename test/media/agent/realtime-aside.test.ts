/** Operators in a call of a speech-to-speech model: over the vendor's protocol, on a line without a network. */
import { afterAll, describe, expect, it } from 'vitest'
import type { DisplayUpdate } from '../../../media/ports/leg.ts'
import type { Transcript } from '../../../media/ports/speech.ts'
import { answering, type FakeTalk, text, toolPlan } from '../../fakes/conversation.ts'
import { openRealtime } from '../../fakes/realtime.ts'
import { until } from '../../fakes/vendors/ws-vendor.ts'

type World = Awaited<ReturnType<typeof openRealtime>>
const open: World[] = []
afterAll(async () => {
  for (const world of open.splice(0)) await world.close()
})

async function greeted(options: FakeTalk = {}): Promise<World> {
  const world = await openRealtime(options)
  open.push(world)
  await world.ready()
  world.talk.start()
  await world.line.agentTurn()
  return world
}

const LONG = 'One two three four five six seven eight nine ten eleven twelve thirteen.'
const sounding = ({ line }: World, from: number) => line.agent.slice(from).some(Boolean)

describe.concurrent('a speech-to-speech agent', () => {
  it('receives whispers, also in a new session', async () => {
    const { server, line, talk, ready } = await greeted()
    talk.instruct('Offer ten percent.')
    await server.sync()
    expect(server.items().at(-1)).toMatchObject({ role: 'system', content: [{ text: 'Offer ten percent.' }] })
    server.closeWith(1011)
    await line.silence(100)
    await ready(2)
    const update = server.events.findLast(event => event.type === 'session.update')
    expect(JSON.stringify(update)).toContain('Offer ten percent.')
    expect(talk.request().system).toContain('Offer ten percent.')
  })

  it('yields in mid-word, transcribes, and knows the dialogue when it resumes', async () => {
    const world = await greeted({
      says: ['Which Anna?', 'I see.'],
      plan: { tools: [toolPlan()] },
      fetch: answering({ things: { ms: 100 } }),
    })
    const { server, line, said, talk, turns } = world
    server.transcripts.push('Hello?')
    server.scripts.push({ parts: [{ say: LONG }] })
    await line.caller(600)
    while (!line.agent.at(-1)) await line.silence(20)
    await line.silence(400)
    const cut = line.agent.length
    expect(talk.stepAside()).toBe(true)
    expect(talk.stepAside()).toBe(true)
    await line.silence(1000)
    expect(sounding(world, cut)).toBe(false)
    expect(turns().at(-1)).toMatchObject({ role: 'agent', interrupted: true })
    await until('the session to be closed', () => server.open() === 0)

    const startMs = world.clock.now()
    talk.operatorSaid({ text: 'This is Anna.', startMs, endMs: startMs + 800 })
    await line.caller(600)
    await line.silence(40_000)
    await line.caller(600)
    await line.silence(40_000)
    expect(sounding(world, cut)).toBe(false)
    expect(world.ended).toEqual([])
    expect(world.llm.requests).toEqual([])
    expect(said().slice(3)).toEqual([
      ['operator', 'This is Anna.'],
      ['caller', 'Which Anna?'],
      ['caller', 'I see.'],
    ])

    talk.stepIn()
    await world.ready(2)
    expect(JSON.stringify(server.items())).toMatch(/This is Anna\..*Which Anna\?/)
    server.transcripts.push('And now?')
    server.scripts.push({ parts: [{ say: 'Now me.' }] })
    await line.caller(600)
    await line.agentTurn()
    expect(said().slice(-2)).toEqual([
      ['caller', 'And now?'],
      ['agent', 'Now me.'],
    ])
    server.transcripts.push('Look it up.')
    server.scripts.push({ parts: [{ call: 'look_up' }] }, { parts: [{ say: 'It is blue.' }] })
    await line.caller(600)
    await line.agentTurn()
    expect(said().at(-1)).toEqual(['agent', 'It is blue.'])
  })

  it("continues to receive the caller's sentence", async () => {
    const { server, line, said, talk, turns } = await greeted({ says: ['All of my long sentence.'] })
    server.late = true
    await line.caller(1000)
    talk.stepAside()
    await line.caller(600)
    await line.silence(3000)
    expect(said().slice(1)).toEqual([['caller', 'All of my long sentence.']])
    const turn = turns().at(-1)!
    expect(turn.ended_ms - turn.started_ms).toBeGreaterThan(1400)
  })

  it('does not run tools or hang up for the operator', async () => {
    const world = await greeted({
      plan: { tools: [toolPlan()] },
      fetch: answering({ things: { ms: 3000 } }),
    })
    const { server, line, talk, turns } = world
    server.transcripts.push('Look it up, and never call again.')
    server.scripts.push({ parts: [{ call: 'look_up' }, { call: 'do_not_call' }, { call: 'end_call' }] })
    await line.caller(600)
    await line.silence(1500)
    talk.stepAside()
    const cut = line.agent.length
    await line.silence(20_000)
    expect(sounding(world, cut)).toBe(false)
    expect(world.ended).toEqual([])
    expect(turns().filter(turn => turn.role === 'tool').length).toBe(2)
    talk.stepIn()
    await world.ready(2)
    await line.silence(5000)
    expect(sounding(world, cut)).toBe(false)
    expect(world.ended).toEqual([])
    expect(JSON.stringify(server.items())).toContain('function_call_output')
  })

  it('ignores answering detection once an operator speaks', async () => {
    const world = await openRealtime({
      says: ['Hello?', 'Hello?'],
      plan: { direction: 'out', voicemail: { action: 'hangup' } },
    })
    open.push(world)
    await world.ready()
    world.talk.start()
    await world.line.caller(400)
    await world.line.silence(100)
    world.talk.stepAside()
    await world.line.silence(12_000)
    expect(world.line.agent.some(Boolean)).toBe(false)
    expect(world.ended).toEqual([])
  })

  it('does not greet over an operator after a late detection', async () => {
    const waiting: (() => void)[] = []
    const transcribe = () =>
      new Promise<Transcript>(resolve => waiting.push(() => resolve({ text: 'Hello?', confidence: 1 })))
    const world = await openRealtime({
      stt: { open: () => ({ push() {}, close() {}, transcribe }) },
      plan: { direction: 'out', voicemail: { action: 'hangup' } },
    })
    open.push(world)
    await world.ready()
    world.talk.start()
    await world.line.caller(400)
    await world.line.silence(600)
    expect(waiting.length).toBeGreaterThan(0)
    world.talk.stepAside()
    for (const read of waiting) read()
    await world.line.silence(5000)
    expect(world.line.agent.some(Boolean)).toBe(false)
    expect(world.ended).toEqual([])
  })

  it('says the goodbye although an operator speaks', async () => {
    const { line, talk, said, ended } = await greeted()
    talk.stepAside()
    await line.silence(1000)
    talk.endWith('Goodbye.', 'max_duration')
    expect(talk.stepAside()).toBe(false)
    await line.agentTurn()
    await line.silence(500)
    expect(said().at(-1)).toEqual(['agent', 'Goodbye.'])
    expect(ended).toEqual(['max_duration'])
  })

  it('shows operator speech in its own segments', async () => {
    const shown: DisplayUpdate[] = []
    const { server, line, talk, ready } = await greeted({ says: ['Second.'], show: one => shown.push(one) })
    server.transcripts.push('First.')
    server.scripts.push({ parts: [{ say: 'One.' }] }, { parts: [{ say: 'Two.' }] })
    await line.caller(600)
    await line.agentTurn()
    talk.stepAside()
    await line.caller(600)
    await line.silence(2000)
    talk.operatorSaid({ text: 'Anna here.', startMs: 0, endMs: 1 })
    talk.stepIn()
    await ready(2)
    server.transcripts.push('Third.')
    await line.caller(600)
    await line.agentTurn()
    const final = shown.flatMap(one => (one.type === 'words' && one.final ? [[one.segment, one.text]] : []))
    expect(final.map(([, text]) => text).sort()).toEqual(
      ['Anna here.', 'First.', 'Hi there.', 'One.', 'Second.', 'Third.', 'Two.'].sort(),
    )
    expect(new Set(final.map(([segment]) => segment)).size).toBe(final.length)
  })

  it('yields as the pipeline that replaced it', async () => {
    const world = await greeted({ says: ['Hello.', 'Again.'], replies: () => [text('Fine.')] })
    const { server, line, talk, said } = world
    server.sessionError = { type: 'invalid_request_error', code: 'invalid_api_key', message: 'no' }
    server.closeWith(1011)
    await line.silence(3000)
    server.closeWith(1011)
    await line.silence(3000)
    expect(world.events.some(event => event.type === 'provider.switched')).toBe(true)
    talk.instruct('Be brief.')
    talk.stepAside()
    const cut = line.agent.length
    await line.caller(600)
    await line.silence(3000)
    expect(sounding(world, cut)).toBe(false)
    talk.stepIn()
    await line.caller(600)
    await line.agentTurn()
    expect(said().at(-1)).toEqual(['agent', 'Fine.'])
    expect(world.llm.requests.at(-1)!.system).toContain('Be brief.')
  })
})
