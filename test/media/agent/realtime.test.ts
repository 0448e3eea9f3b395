/** The conversation with a speech-to-speech model, over the vendor's protocol, on a line without a network. */
import { afterEach, describe, expect, it } from 'vitest'
import { heardText } from '../../../media/agent/heard.ts'
import { decodeG711 } from '../../../media/audio/g711.ts'
import { answering, type FakeTalk, text, toolPlan } from '../../fakes/conversation.ts'
import { openRealtime } from '../../fakes/realtime.ts'
import { until } from '../../fakes/vendors/ws-vendor.ts'

type World = Awaited<ReturnType<typeof openRealtime>>
let open: World[] = []
afterEach(async () => {
  for (const world of open.splice(0)) {
    await world.close()
    expect(JSON.stringify(world.log.lines)).not.toMatch(/sk-secret|Something that was said/)
  }
  open = []
})

async function talk(options: FakeTalk = {}): Promise<World> {
  const world = await openRealtime(options)
  open.push(world)
  await world.ready()
  world.talk.start()
  return world
}
async function greeted(options: FakeTalk = {}): Promise<World> {
  const world = await talk(options)
  await world.line.agentTurn()
  return world
}

const LONG = 'One two three four five six seven eight nine ten eleven twelve thirteen.'

describe('a conversation with a model that speaks', () => {
  it('greets verbatim, answers, and measures latency', async () => {
    const { server, line, said, talk, turns, events } = await greeted({ plan: { disclosure: 'I am a machine.' } })
    server.transcripts.push('What time is it?')
    server.scripts.push({ parts: [{ say: 'It is seven.' }] })
    await line.caller(600)
    await line.agentTurn()
    expect(said()).toEqual([
      ['agent', 'I am a machine. Hi there.'],
      ['caller', 'What time is it?'],
      ['agent', 'It is seven.'],
    ])
    // The model knows what was said in its name.
    expect(server.items()[0]).toMatchObject({ role: 'assistant', content: [{ text: 'I am a machine. Hi there.' }] })
    const [latency] = talk.transcript.latency().turns
    // The server waits for 500 ms of silence; the rest is at most four frames.
    expect(latency!.endpointing_ms).toBeGreaterThanOrEqual(480)
    expect(latency!.total_ms).toBeLessThanOrEqual(600)
    expect(latency!.total_ms).toBe(turns()[2]!.started_ms - turns()[1]!.ended_ms)
    expect(Math.abs(turns()[1]!.ended_ms - turns()[1]!.started_ms - 600)).toBeLessThanOrEqual(40)
    expect(events.filter(event => event.type === 'turn.finished')).toHaveLength(3)
  })

  it("passes the model's bytes unchanged", async () => {
    const { server, line } = await greeted()
    const sound = Buffer.from(Uint8Array.from({ length: 1600 }, (_, i) => (i * 7) % 256))
    server.scripts.push({ parts: [{ say: 'Bytes.', sound }] })
    await line.caller(400)
    const before = line.ulaw.length
    await line.agentTurn()
    const sent = line.ulaw.slice(before).filter(bytes => bytes !== null)
    expect(Buffer.concat(sent).equals(sound)).toBe(true)
  })

  it('orders late transcriptions correctly', async () => {
    const { server, line, said, talk } = await greeted()
    server.late = true
    server.scripts.push({ parts: [{ say: 'Fine.' }] })
    await line.caller(400)
    await line.agentTurn()
    const item_id = server.items().find(item => item.role === 'user')!.id
    server.send({
      type: 'conversation.item.input_audio_transcription.completed',
      item_id,
      content_index: 0,
      transcript: 'How are you?',
    })
    await server.sync()
    expect(said().map(([role]) => role)).toEqual(['agent', 'caller', 'agent'])
    expect(talk.transcript.messages().map(({ role }) => role)).toEqual(['agent', 'caller', 'agent'])
  })

  it('tolerates failed transcription', async () => {
    const { server, line, said } = await greeted()
    server.transcripts.push(null)
    await line.caller(400)
    await line.agentTurn()
    expect(said().map(([role]) => role)).toEqual(['agent', 'agent'])
  })
})

describe('barge-in', () => {
  it('stops playout within one frame, and tells the model what was heard', async () => {
    const { server, line, turns, events, sent } = await greeted()
    server.transcripts.push('Tell me.', 'Stop.')
    server.scripts.push({ parts: [{ say: LONG }] }, { parts: [{ say: 'Sorry.' }] })
    await line.caller(500)
    while (!line.agent.at(-1)) await line.silence(20)
    await line.silence(1480)
    const before = line.agent.length
    await line.caller(500)
    const silentFrom = line.agent.slice(before).indexOf(false)
    // The server needs three frames to know a voice; the next frame is silent.
    expect(silentFrom).toBeLessThanOrEqual(3)
    const heardMs = 1500 + silentFrom * 20
    await line.agentTurn()
    const cut = turns().find(turn => turn.interrupted)!
    expect(cut.heard_text).toBe(heardText({ text: LONG, playedMs: heardMs, totalMs: LONG.length * 60 }))
    const barge = events.find(event => event.type === 'barge_in')!
    expect(barge).toMatchObject({ heard_ms: heardMs })
    const [truncated] = sent('conversation.item.truncate')
    expect(Math.abs(Number(truncated!['audio_end_ms']) - heardMs)).toBeLessThanOrEqual(20)
    expect(turns().map(turn => turn.role)).toEqual(['agent', 'caller', 'agent', 'caller', 'agent'])
    expect(turns().at(-1)!.heard_text).toBe('Sorry.')
  })

  it('discards an answer that is still arriving', async () => {
    const { server, line, said } = await greeted()
    server.scripts.push({ parts: [{ say: LONG, hangs: true }] }, { parts: [{ say: 'Sorry.' }] })
    await line.caller(500)
    while (!line.agent.at(-1)) await line.silence(20)
    const late = { ...server.saying(), delta: Buffer.alloc(8000, 0x90).toString('base64') }
    server.send({ type: 'input_audio_buffer.speech_started', audio_start_ms: 0, item_id: 'x' })
    server.send({ type: 'response.output_audio.delta', ...late })
    await server.sync()
    const before = line.agent.length
    await line.caller(500)
    await line.silence(300)
    expect(line.agent.slice(before)).not.toContain(true)
    await line.agentTurn()
    expect(said().at(-1)).toEqual(['agent', 'Sorry.'])
  })

  it('discards an answer that had not started to play', async () => {
    const { server, line } = await greeted()
    server.scripts.push({ parts: [], silent: true })
    await line.caller(500)
    await line.silence(600)
    server.send({ type: 'response.created', response: { id: 'old' } })
    server.send({ type: 'input_audio_buffer.speech_started', audio_start_ms: 0, item_id: 'x' })
    const of = { response_id: 'old', item_id: 'o', output_index: 0, content_index: 0 }
    server.send({ type: 'response.output_audio.delta', ...of, delta: Buffer.alloc(8000, 0x90).toString('base64') })
    await server.sync()
    const before = line.agent.length
    await line.silence(400)
    expect(line.agent.slice(before)).not.toContain(true)
  })

  it('interrupts the greeting, too', async () => {
    const { server, line, turns } = await talk({ plan: { greeting: LONG } })
    server.scripts.push({ parts: [{ say: 'Yes?' }] })
    while (!line.agent.at(-1)) await line.silence(20)
    await line.silence(500)
    await line.caller(400)
    await line.agentTurn()
    expect(turns()[0]).toMatchObject({ role: 'agent', interrupted: true })
    expect(server.items()[0]!.content![0]!.text).toMatch(/^One.*interrupted\)$/)
  })

  it('by a key is answered', async () => {
    const { server, line, said, sent, events } = await greeted()
    server.scripts.push({ parts: [{ say: LONG, hangs: true }] }, { parts: [{ say: 'Forty-two.' }] })
    await line.caller(500)
    while (!line.agent.at(-1)) await line.silence(20)
    await line.silence(200)
    for (const key of '42#') line.press(key)
    await line.silence(40)
    expect(line.agent.at(-1)).toBe(false)
    await line.agentTurn()
    expect(sent('response.cancel')).not.toHaveLength(0)
    expect(said().slice(-2)).toEqual([
      ['caller', '42'],
      ['agent', 'Forty-two.'],
    ])
    expect(server.items().some(item => item.content?.[0]?.text === '(pressed keys) 42')).toBe(true)
    expect(events.filter(event => event.type === 'dtmf.received')).toHaveLength(3)
  })
})

describe('tools', () => {
  const tools = ['slow', 'quick'].map(name =>
    toolPlan({ name, url: `https://api.example/${name}`, filler: [{ after_ms: 500, text: 'One moment.' }] }),
  )
  const two = {
    parts: [
      { call: 'slow', id: 'c1' },
      { call: 'quick', id: 'c2' },
    ],
  }

  it('of one answer run in parallel and are answered together', async () => {
    const { server, line, said, talk, sent, events } = await greeted({
      plan: { tools },
      fetch: answering({ slow: { ms: 2000 }, quick: { ms: 100 } }),
    })
    server.transcripts.push('Look it up.')
    server.scripts.push(two, { parts: [{ say: 'It is seven.' }] })
    await line.caller(600)
    await line.agentTurn()
    await line.agentTurn()
    expect(said()).toEqual([
      ['agent', 'Hi there.'],
      ['caller', 'Look it up.'],
      ['tool', 'quick: ok'],
      ['agent', 'One moment.'],
      ['tool', 'slow: ok'],
      ['agent', 'It is seven.'],
    ])
    expect(sent('response.create')).toHaveLength(1)
    const results = server.items().filter(item => item.type === 'function_call_output')
    expect(results.map(({ call_id }) => call_id).sort()).toEqual(['c1', 'c2'])
    expect(results.every(({ output }) => output!.includes('"from"'))).toBe(true)
    expect(talk.transcript.toolCalls.map(({ name, status }) => [name, status])).toEqual([
      ['quick', 'ok'],
      ['slow', 'ok'],
    ])
    expect(events.map(event => event.type)).toContain('filler.spoken')
    expect(talk.transcript.latency().turns[0]).toMatchObject({ filler: true })
  })

  it("are not played over the model's comment", async () => {
    const { server, line, said } = await greeted({ plan: { tools }, fetch: answering({ quick: { ms: 20 } }) })
    server.scripts.push(
      { parts: [{ say: 'Let me look that up for you.' }, { call: 'quick' }] },
      { parts: [{ say: 'It is seven.' }] },
    )
    await line.caller(600)
    await line.agentTurn()
    await line.silence(1500)
    expect(said().filter(([role]) => role === 'agent')).toEqual([
      ['agent', 'Hi there.'],
      ['agent', 'Let me look that up for you.'],
      ['agent', 'It is seven.'],
    ])
  })

  it('continue when the caller interrupts the filler', async () => {
    const { server, line, said, talk } = await greeted({ plan: { tools }, fetch: answering({ slow: { ms: 3000 } }) })
    server.transcripts.push('Look it up.', 'Hurry.')
    server.scripts.push(
      { parts: [{ call: 'slow' }] },
      { parts: [{ say: 'Yes.' }] },
      { parts: [{ say: 'It is seven.' }] },
    )
    await line.caller(600)
    while (!line.agent.at(-1)) await line.silence(20)
    await line.caller(500)
    await line.agentTurn()
    await line.agentTurn()
    expect(talk.transcript.toolCalls[0]).toMatchObject({ status: 'ok' })
    expect(said().at(-1)).toEqual(['agent', 'It is seven.'])
  })

  it('that do not exist or have invalid JSON return an error to the model', async () => {
    const { server, line, talk } = await greeted()
    server.scripts.push({ parts: [{ call: 'nothing' }, { call: 'look_up', args: '{"a"' }] })
    await line.caller(600)
    await line.agentTurn()
    expect(talk.transcript.toolCalls.map(({ status }) => status).sort()).toEqual(['bad_arguments', 'unknown_tool'])
    expect(server.items().filter(item => item.type === 'function_call_output')).toHaveLength(2)
  })

  it('called endlessly end with an apology', async () => {
    const { server, line, said } = await greeted({ plan: { tools }, fetch: answering({ quick: { ms: 20 } }) })
    for (let i = 0; i < 12; i++) server.scripts.push({ parts: [{ call: 'quick', args: `{"n":${i}}` }] })
    await line.caller(600)
    await line.agentTurn()
    expect(said().at(-1)![1]).toMatch(/went wrong/)
  })

  it('end the call after the goodbye', async () => {
    const { server, line, ended, talk, turns } = await greeted()
    server.scripts.push({ parts: [{ say: 'Goodbye then.' }, { call: 'end_call' }] })
    await line.caller(400)
    while (!line.agent.at(-1)) await line.silence(20)
    await line.silence(500)
    expect(ended).toEqual([])
    await line.silence(1000)
    expect(ended).toEqual(['agent_hangup'])
    expect(turns().at(-1)).toMatchObject({ heard_text: 'Goodbye then.', interrupted: false })
    expect(talk.transcript.toolCalls).toMatchObject([{ name: 'end_call', status: 'ok' }])
  })

  it('do not end the call of a caller who continues', async () => {
    const { server, line, ended, talk } = await greeted()
    server.scripts.push({ parts: [{ say: 'Goodbye then.' }, { call: 'end_call', id: 'bye' }] })
    await line.caller(400)
    while (!line.agent.at(-1)) await line.silence(20)
    await line.silence(200)
    await line.caller(400)
    await line.agentTurn()
    await line.silence(1000)
    expect(ended).toEqual([])
    expect(talk.transcript.toolCalls).toMatchObject([{ name: 'end_call', status: 'aborted' }])
    expect(server.items().some(item => item.call_id === 'bye' && item.output?.includes('goes on'))).toBe(true)
  })

  it('are reported before the call ends', async () => {
    const { server, line, ended, talk, said } = await greeted({
      plan: { tools },
      fetch: answering({ quick: { ms: 20 } }),
    })
    server.scripts.push(
      { parts: [{ call: 'quick' }, { call: 'end_call', id: 'bye' }] },
      { parts: [{ say: 'It is seven.' }] },
    )
    await line.caller(400)
    await line.agentTurn()
    await line.silence(1000)
    expect(said().at(-1)).toEqual(['agent', 'It is seven.'])
    expect(ended).toEqual([])
    expect(talk.transcript.toolCalls.map(({ name, status }) => [name, status])).toContainEqual(['end_call', 'aborted'])
    expect(server.items().some(item => item.call_id === 'bye' && item.output)).toBe(true)
  })

  it('that run during a reconnect are reported once', async () => {
    const { server, line, said, ready } = await greeted({
      plan: { tools },
      fetch: answering({ slow: { ms: 2000 }, quick: { ms: 100 } }),
    })
    server.transcripts.push('Look it up.')
    server.scripts.push(two, { parts: [{ say: 'It is seven.' }] })
    await line.caller(600)
    await line.silence(1000)
    server.drop()
    await ready(2)
    await line.agentTurn()
    await line.silence(1500)
    expect(said().at(-1)).toEqual(['agent', 'It is seven.'])
    const about = (type: string) =>
      server
        .items()
        .filter(item => item.type === type)
        .map(item => item.call_id)
    expect(about('function_call')).toEqual(['c2', 'c1'])
    expect(about('function_call_output')).toEqual(['c2', 'c1'])
  })

  it('record do-not-call', async () => {
    const { server, line, ended, talk, said } = await greeted()
    server.scripts.push({ parts: [{ call: 'do_not_call' }] })
    await line.caller(400)
    await line.agentTurn()
    await line.silence(400)
    expect(talk.doNotCall).toBe(true)
    expect(said().at(-1)).toEqual(['agent', 'Goodbye.'])
    expect(ended).toEqual(['agent_hangup'])
  })

  it('that run at the hangup are recorded', async () => {
    const { server, line, talk } = await greeted({ plan: { tools }, fetch: answering({ slow: { ms: 9000 } }) })
    server.scripts.push({ parts: [{ call: 'slow' }] })
    await line.caller(400)
    await line.silence(800)
    talk.stop()
    await talk.settled()
    expect(talk.transcript.toolCalls).toMatchObject([{ name: 'slow', status: 'aborted' }])
  })
})

describe('overlapping answers', () => {
  it('are not mixed: the audible one is finished', async () => {
    const tools = [toolPlan({ name: 'quick', url: 'https://api.example/quick' })]
    const { server, line, said } = await greeted({ plan: { tools }, fetch: answering({ quick: { ms: 20 } }) })
    const error = { type: 'server_error', code: 'server_error' }
    server.scripts.push(
      { parts: [{ say: 'Let me look that up for you.' }, { call: 'quick' }] },
      { parts: [], status: 'failed', error },
    )
    await line.caller(600)
    await line.agentTurn()
    await line.silence(1500)
    expect(
      said()
        .filter(([role]) => role === 'agent')
        .map(([, words]) => words),
    ).toEqual(['Hi there.', 'Let me look that up for you.', expect.stringMatching(/went wrong/)])
  })
})

describe('silence', () => {
  it('prompts a silent caller twice, then ends the call', async () => {
    const { line, ended, said } = await greeted()
    for (let i = 0; i < 3; i++) await line.agentTurn(15_000)
    await line.silence(400)
    expect(said().slice(1)).toEqual([
      ['agent', 'Are you still there?'],
      ['agent', 'Are you still there?'],
      ['agent', 'I can not hear you, so I will hang up now. Goodbye.'],
    ])
    expect(ended).toEqual(['silence_timeout'])
  })

  it('bridges a silent model, then uses another session, then the pipeline', async () => {
    const { server, line, said, ready, events } = await greeted({ says: ['Hello?'] })
    server.transcripts.push('Hello?')
    for (let i = 0; i < 3; i++) server.scripts.push({ parts: [], silent: true })
    await line.caller(500)
    await line.agentTurn()
    expect(said().at(-1)).toEqual(['agent', 'One moment, please.'])
    await line.silence(7000)
    await ready(2)
    const switched = () => events.some(event => event.type === 'provider.switched')
    for (let ms = 0; ms < 9000 && !switched(); ms += 20) await line.silence(20)
    await line.agentTurn()
    expect(said().at(-1)![1]).toMatch(/went wrong/)
    expect(events.find(event => event.type === 'provider.switched')).toMatchObject({ code: 'timeout' })
  })

  it('ignores an answer without audio', async () => {
    const { server, line, said } = await greeted()
    server.scripts.push({ parts: [] })
    await line.caller(500)
    await line.agentTurn()
    expect(said().at(-1)![1]).toMatch(/went wrong/)
  })
})

describe('vendor failures', () => {
  const failed = { parts: [], status: 'failed', error: { type: 'requests', code: 'rate_limit_exceeded' } } as const

  it('asks the caller to repeat after one failure', async () => {
    const { server, line, said } = await greeted()
    server.scripts.push({ ...failed, parts: [] }, { parts: [{ say: 'Better now.' }] })
    await line.caller(500)
    await line.agentTurn()
    expect(said().at(-1)![1]).toMatch(/went wrong/)
    await line.caller(500)
    await line.agentTurn()
    expect(said().at(-1)).toEqual(['agent', 'Better now.'])
  })

  it('continues with the pipeline after two failures', async () => {
    const { server, line, said, events, llm, talk } = await greeted({
      says: ['Third.'],
      replies: () => [text('I am back.')],
    })
    server.transcripts.push('First.', 'Second.')
    server.scripts.push({ ...failed, parts: [] }, { ...failed, parts: [] })
    for (let i = 0; i < 2; i++) {
      await line.caller(500)
      await line.agentTurn()
    }
    await until('the socket closed', () => server.open() === 0)
    await line.caller(600)
    await line.agentTurn()
    expect(said().slice(-2)).toEqual([
      ['caller', 'Third.'],
      ['agent', 'I am back.'],
    ])
    expect(events.find(event => event.type === 'provider.switched')).toMatchObject({
      from: 'openai_realtime/gpt-realtime',
      code: 'rate_limited',
    })
    expect(llm.requests.at(-1)!.messages.map(({ role }) => role)).toEqual(
      expect.arrayContaining(['agent', 'caller', 'agent', 'caller']),
    )
    expect(talk.request().messages).toEqual(talk.transcript.messages())
  })

  it('continues in a new session after a drop in mid-word', async () => {
    const { server, line, ready, turns, sent, events } = await greeted()
    server.transcripts.push('Tell me.')
    server.scripts.push({ parts: [{ say: LONG, hangs: true }] }, { parts: [{ say: 'As I was saying.' }] })
    await line.caller(500)
    while (!line.agent.at(-1)) await line.silence(20)
    await line.silence(980)
    server.drop()
    await ready(2)
    await line.agentTurn()
    const cut = turns().find(turn => turn.interrupted)!
    expect(LONG.startsWith(cut.heard_text) && cut.heard_text.length > 5).toBe(true)
    expect(turns().at(-1)!.heard_text).toBe('As I was saying.')
    const told = server.items().map(item => item.content?.[0]?.text)
    expect(told.slice(0, 2)).toEqual(['Hi there.', 'Tell me.'])
    expect(told[2]).toContain(cut.heard_text)
    expect(sent('conversation.item.truncate')).toEqual([])
    // Nobody talked over it.
    expect(events.map(event => event.type)).not.toContain('barge_in')
  })

  it("resends the caller's audio after a drop during speech", async () => {
    const { server, line, ready, said } = await greeted()
    server.transcripts.push('A long question?')
    server.scripts.push({ parts: [{ say: 'A short answer.' }] })
    await line.caller(800)
    server.drop()
    await ready(2)
    await line.caller(200)
    await line.agentTurn()
    const loud = decodeG711('PCMU', server.heard()).filter(sample => Math.abs(sample) > 400)
    expect(loud.length).toBeGreaterThanOrEqual(8 * 980)
    expect(said().slice(-2)).toEqual([
      ['caller', 'A long question?'],
      ['agent', 'A short answer.'],
    ])
  })

  it("continues in a new session after the vendor's maximum", async () => {
    const { server, line, ready, said, ended } = await greeted()
    server.fail({ type: 'invalid_request_error', code: 'session_expired' })
    await ready(2)
    await line.silence(100)
    server.scripts.push({ parts: [{ say: 'Still here.' }] })
    await line.caller(500)
    await line.agentTurn()
    expect(said().at(-1)).toEqual(['agent', 'Still here.'])
    expect(ended).toEqual([])
  })

  it('continues with the pipeline and one apology when no session is available', async () => {
    const { server, line, said, events, turns } = await greeted({
      says: ['Hello?'],
      replies: () => [text('I am back.')],
    })
    server.scripts.push({ parts: [{ say: LONG, hangs: true }] })
    await line.caller(500)
    while (!line.agent.at(-1)) await line.silence(20)
    await line.silence(500)
    server.refuse = { status: 503 }
    server.drop()
    await until('the other agent', () => events.some(event => event.type === 'provider.switched'))
    await line.agentTurn()
    expect(said().at(-1)![1]).toMatch(/went wrong/)
    await line.caller(600)
    await line.agentTurn()
    expect(said().at(-1)).toEqual(['agent', 'I am back.'])
    expect(turns().filter(turn => /went wrong/.test(turn.text))).toHaveLength(1)
  })

  it('plays the greeting without an apology when the vendor fails at the start', async () => {
    const world = await openRealtime({ says: ['Hello?'], replies: () => [text('I am here.')] })
    open.push(world)
    const { server, line, said, events } = world
    await world.ready()
    server.sessionError = null
    server.fail({ type: 'invalid_request_error', code: 'invalid_api_key' })
    world.talk.start()
    await until('the other agent', () => events.some(event => event.type === 'provider.switched'))
    await line.agentTurn()
    await line.caller(600)
    await line.agentTurn()
    expect(said()).toEqual([
      ['agent', 'Hi there.'],
      ['caller', 'Hello?'],
      ['agent', 'I am here.'],
    ])
  })

  it('survives invalid JSON', async () => {
    const { server, line, said } = await greeted()
    server.send('{"type":')
    server.scripts.push({ parts: [{ say: 'All right.' }] })
    await line.caller(500)
    await line.agentTurn()
    expect(said().at(-1)).toEqual(['agent', 'All right.'])
  })
})

describe('the end', () => {
  it('speaks the goodbye over other speech, then hangs up', async () => {
    const { server, line, ended, talk, said } = await greeted()
    server.scripts.push({ parts: [{ say: LONG }] })
    await line.caller(500)
    while (!line.agent.at(-1)) await line.silence(20)
    await line.silence(300)
    talk.endWith('Time is up.', 'max_duration')
    await line.agentTurn()
    await line.silence(300)
    expect(said().at(-1)).toEqual(['agent', 'Time is up.'])
    expect(ended).toEqual(['max_duration'])
    talk.stop()
    await until('the socket closed', () => server.open() === 0)
  })

  it('waits briefly for the last transcription', async () => {
    const { server, line, talk, said } = await greeted()
    server.late = true
    await line.caller(500)
    await line.silence(600)
    const item_id = server.items().find(item => item.role === 'user')!.id
    talk.stop()
    const settled = talk.settled()
    server.send({ type: 'conversation.item.input_audio_transcription.completed', item_id, transcript: 'Bye.' })
    await settled
    expect(said()).toContainEqual(['caller', 'Bye.'])
  })

  it('stops retrying', async () => {
    const { line, talk, clock, server } = await greeted()
    server.late = true
    await line.caller(500)
    await line.silence(600)
    talk.stop()
    const settled = talk.settled()
    clock.advance(2000)
    await settled
    await until('the socket closed', () => server.open() === 0)
  })
})

describe('a call that was dialled', () => {
  const dialed = (says: string, changes: FakeTalk['plan'] = {}) =>
    talk({
      stt: {
        open: () => ({ push() {}, close() {}, transcribe: async () => ({ text: says, confidence: null }) }),
      },
      plan: { direction: 'out', voicemail: { action: 'hangup' }, ...changes },
    })

  it('detects who answered before the model receives audio', async () => {
    const { server, line, said, talk } = await dialed('Hello?')
    await line.silence(400)
    await line.caller(500)
    expect(server.heard()).toHaveLength(0)
    server.send({ type: 'response.created', response: { id: 'early' } })
    const of = { response_id: 'early', item_id: 'e', output_index: 0, content_index: 0 }
    server.send({ type: 'response.output_audio.delta', ...of, delta: Buffer.alloc(800, 0x90).toString('base64') })
    server.send({ type: 'response.done', response: { id: 'early', status: 'completed' } })
    await server.sync()
    await line.agentTurn()
    expect(said()).toEqual([
      ['caller', 'Hello?'],
      ['agent', 'Hi there.'],
    ])
    expect(talk.answeredBy).toBe('human')
    expect(server.items().map(item => item.content![0]!.text)).toEqual(['Hello?', 'Hi there.'])
    server.scripts.push({ parts: [{ say: 'Good.' }] })
    await line.caller(500)
    await line.agentTurn()
    expect(said().at(-1)).toEqual(['agent', 'Good.'])
  })

  it('that lost its session before any speech continues with the pipeline', async () => {
    const { server, line, said, events } = await dialed('Hello?')
    server.fail({ type: 'invalid_request_error', code: 'invalid_api_key' })
    await line.silence(400)
    await line.caller(500)
    await line.agentTurn()
    expect(said()).toEqual([
      ['caller', 'Hello?'],
      ['agent', 'Hi there.'],
    ])
    expect(events.find(event => event.type === 'provider.switched')).toMatchObject({ code: 'unauthorized' })
    await line.caller(500)
    await line.agentTurn()
    expect(said().slice(-2)).toEqual([
      ['caller', 'Hello?'],
      ['agent', 'I see.'],
    ])
  })

  it('that reached a machine is not spoken to', async () => {
    const { server, line, talk, ended } = await dialed('Please leave a message after the tone.')
    await line.silence(200)
    await line.caller(3000)
    await line.silence(2000)
    expect(ended).toEqual(['voicemail_hangup'])
    expect(talk.answeredBy).toBe('machine')
    expect(server.heard()).toHaveLength(0)
  })
})
