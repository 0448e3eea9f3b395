/** Calls with baresip, both ways: real SIP, RTP and speech against the running product. */
import { afterAll, beforeAll, expect } from 'vitest'
import { needs } from '../support/needs.ts'
import { type Stack, startStack } from '../support/stack.ts'
import { type Baresip, startBaresip } from '../support/stack-baresip.ts'
import { expectCost, expectHeard, expectSettled, expectWebhook, WORD_ERRORS } from '../support/stack-checks.ts'
import { wordErrors } from '../support/stack-speech.ts'
import { isLoud, isSound, soundOf, type Tap, tapRtp } from '../support/stack-wire.ts'
import { json } from '../support/stack-world.ts'
import { until } from '../support/world.ts'

const { describe, it } = needs('baresip', 'tcpdump')

let stack: Stack
let tap: Tap
beforeAll(async () => {
  stack = await startStack()
  tap = await tapRtp(stack)
  stack.world.on('/hook', (_, response) => response.writeHead(204).end())
})
afterAll(() => stack?.stop())

const agentSound = (phone: Baresip) => tap.packets({ to: phone.isMedia })

describe.concurrent('baresip', () => {
  it('dials in, is greeted by the agent of the number, is understood, and hangs up', { timeout: 180_000 }, async () => {
    const phone = await startBaresip(stack, '+14155550101')
    const trunk = { port: phone.port }
    const owner = await stack.owner({
      trunk,
      webhook: `${stack.world.url}/hook`,
      project: { greeting: 'Welcome to the city museum. What would you like to know?' },
    })
    // Another customer on the same carrier: the number decides, not the address.
    await stack.owner({ trunk, project: { greeting: 'This is the butcher.' } })
    const question = 'Please tell the director that the old lighthouse has been repaired.'
    const sound = await stack.speech.say(question)

    await phone.command('dial', `sip:${owner.number}@${stack.sip.host}:${stack.sip.port}`)
    await phone.wait('CALL_ESTABLISHED')
    const { id } = (await until(() => owner.newest('in'), 'the call'))!
    const call = await owner.follow(id)
    await call.agentSaid(1)
    await phone.speak(sound)
    const heard = await call.wait('turn.finished', event => event.turn.role === 'caller')
    expect(wordErrors(question, heard.turn.text)).toBeLessThanOrEqual(WORD_ERRORS)
    await call.agentSaid(2)
    await phone.command('hangup')
    await call.ended()

    const detail = await owner.detail(id)
    expect(detail).toMatchObject({
      status: 'completed',
      ended_reason: 'caller_hangup',
      direction: 'in',
      to: owner.number,
    })
    expect(detail.transcript.map(turn => turn.role)).toEqual(['agent', 'caller', 'agent'])
    expect(detail.transcript[0]!.heard_text).toBe('Welcome to the city museum. What would you like to know?')
    await expectHeard(stack.speech, soundOf(agentSound(phone)), detail)
    expectCost(detail)
    const webhook = await expectWebhook(stack, owner, id, 'call.completed')
    expect(JSON.parse(webhook.body)).toMatchObject({ goal_reached: false, data: { summary: detail.summary } })
    await expectSettled(stack, owner)
  })

  it('talks to the text model of its project with a secret key', { timeout: 240_000 }, async () => {
    const phone = await startBaresip(stack, '+14155550103')
    const answers = ['The lighthouse was built by the river.', 'You are welcome.']
    stack.world.on('/v1/chat/completions', (request, response) => {
      const asked = JSON.parse(request.body) as { stream?: boolean; model: string }
      if (!asked.stream) {
        const content = JSON.stringify({
          summary: 'Asked about a lighthouse.',
          goal_reached: true,
          goal_evidence: answers[0],
        })
        const choices = [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }]
        json(response, { id: 'c', object: 'chat.completion', created: 1, model: asked.model, choices })
        return
      }
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const said = (request.body.match(/"role":"user"/g) ?? []).length > 2 ? answers[1] : answers[0]
      for (const delta of [
        { role: 'assistant', content: '' },
        ...said!.split(/(?<= )/).map(content => ({ content })),
        {},
      ]) {
        const choices = [{ index: 0, delta, finish_reason: 'content' in delta ? null : 'stop' }]
        response.write(
          `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: asked.model, choices })}\n\n`,
        )
      }
      response.end('data: [DONE]\n\n')
    })
    const owner = await stack.owner({
      trunk: { port: phone.port },
      webhook: `${stack.world.url}/hook`,
      secrets: { MODEL_KEY: 'sk-e2e' },
      project: {
        greeting: 'Hello, what would you like to know?',
        goal: 'A question was answered.',
        llm: {
          provider: 'openai_compatible',
          base_url: `${stack.world.url}/v1`,
          model: 'local',
          api_key_secret: 'MODEL_KEY',
        },
      },
    })
    const sound = await stack.speech.say('Who built the lighthouse?')
    const call = await owner.place('+14155550103')
    await phone.wait('CALL_INCOMING')
    await phone.command('accept')
    await call.agentSaid(1)
    await phone.speak(sound)
    await call.wait('turn.finished', ({ turn }) => turn.role === 'agent' && turn.text === answers[0])
    await phone.command('hangup')
    await call.ended()

    const detail = await owner.detail(call.id)
    expect(detail).toMatchObject({ status: 'completed', summary: 'Asked about a lighthouse.', goal_reached: true })
    await expectHeard(stack.speech, soundOf(agentSound(phone)), detail)
    const asked = stack.world.received.filter(({ path }) => path === '/v1/chat/completions')
    expect(asked.every(({ headers }) => headers.authorization === 'Bearer sk-e2e')).toBe(true)
    await expectSettled(stack, owner)
  })

  it('is dialled by REST: tool with filler, barge-in, agent hangup', {
    timeout: 120_000,
  }, async () => {
    const callee = '+14155550102'
    const phone = await startBaresip(stack, callee)
    const filler = 'Just a moment, I am looking that up for you.'
    const slow = 'The library opens at nine in the morning and closes at six in the evening.'
    const long =
      'The gallery is open every day of the week, but only in the afternoon, and on Sundays there is also a guided tour through the whole of the new building.'
    stack.world.on('/rooms/library', (_, response) => setTimeout(() => json(response, { message: slow }), 2600))
    stack.world.on('/rooms/gallery', (_, response) => json(response, { message: long }))
    const owner = await stack.owner({
      trunk: { port: phone.port },
      webhook: `${stack.world.url}/hook`,
      secrets: { MUSEUM_TOKEN: 'token-4711' },
      project: {
        greeting: 'Hello {{who}}, here is the city museum. How can I help?',
        goal: 'The opening hours were told.',
        tools: [
          {
            name: 'opening_hours',
            description: 'Find the opening hours of a room.',
            method: 'GET',
            url: `${stack.world.url}/rooms/{room}`,
            parameters: {
              type: 'object',
              properties: { room: { type: 'string', enum: ['library', 'gallery'], description: 'Which room?' } },
              required: ['room'],
            },
            headers: { authorization: 'Bearer {{secret:MUSEUM_TOKEN}}' },
            filler,
          },
        ],
      },
    })
    const [library, gallery, over, bye] = await Promise.all(
      [
        'What are the opening hours of the library please?',
        'And what are the opening hours of the gallery?',
        'Sorry, I have to stop you there, my dog wants to go for a walk.',
        'No, thank you. That is all.',
      ].map(text => stack.speech.say(text)),
    )

    const call = await owner.place(callee, { who: 'Susan' })
    await phone.wait('CALL_INCOMING')
    await call.wait('call.ringing')
    await phone.command('accept')
    await call.agentSaid(1)

    await phone.speak(library!)
    await call.wait('filler.spoken')
    const first = await call.wait('tool.finished')
    expect(first.tool).toMatchObject({
      name: 'opening_hours',
      arguments: { room: 'library' },
      status: 'ok',
      filler: [filler],
    })
    await call.wait('turn.finished', ({ turn }) => turn.role === 'agent' && turn.text.startsWith('The library'))

    await phone.speak(gallery!)
    const second = await call.wait('tool.finished', ({ tool }) => tool.arguments['room'] === 'gallery')
    expect(second.tool).toMatchObject({ status: 'ok', filler: [] })
    // Two seconds into the long answer it is talked over.
    const loudBefore = agentSound(phone).filter(isLoud).length
    await tap.wait(() => agentSound(phone).filter(isLoud).length > loudBefore + 100, 'the long answer')
    await phone.speak(over!)
    const barge = await call.wait('barge_in')
    // The text that the record marks as heard matches the audio on the wire to a packet.
    const sent = agentSound(phone).filter(isSound)
    const firstOfRun = sent.findLastIndex((packet, i) => packet.atMs - (sent[i - 1]?.atMs ?? 0) > 400)
    expect(Math.abs((sent.length - firstOfRun) * 20 - barge.heard_ms)).toBeLessThanOrEqual(20)
    const cut = await call.wait('turn.finished', ({ turn }) => turn.interrupted)
    expect(cut.turn.text).toContain('guided tour')
    expect(cut.turn.heard_text).not.toContain('whole of the new building')
    expect(cut.turn.heard_text).toBe(barge.heard_text)
    await call.wait('turn.finished', ({ turn }) => turn.role === 'caller' && /dog/i.test(turn.text))
    await call.wait('turn.finished', ({ turn }) => turn.role === 'agent' && turn.started_ms > cut.turn.ended_ms)
    await phone.speak(bye!)
    await phone.wait('CALL_CLOSED')
    await call.ended()

    const detail = await owner.detail(call.id)
    expect(detail).toMatchObject({ status: 'completed', ended_reason: 'agent_hangup', from: owner.number, to: callee })
    expect(detail.transcript[0]!.text).toBe('Hello Susan, here is the city museum. How can I help?')
    expect(detail.tool_calls.slice(0, 2)).toEqual([first.tool, second.tool])
    expect(detail.tool_calls[2]).toMatchObject({ name: 'end_call', status: 'ok' })
    const asked = stack.world.received.filter(({ path }) => path.startsWith('/rooms/'))
    expect(asked.map(({ method, path, headers }) => [method, path, headers.authorization])).toEqual([
      ['GET', '/rooms/library', 'Bearer token-4711'],
      ['GET', '/rooms/gallery', 'Bearer token-4711'],
    ])

    // Read back from the wire: everything the transcript says, and the filler once, while the slow tool ran.
    const recorded = soundOf(agentSound(phone))
    const heard = await expectHeard(stack.speech, recorded, detail)
    expect(heard.match(/looking that up/gi)).toHaveLength(1)
    const spoken = detail.transcript.find(turn => turn.text.includes(filler))!
    const tool = detail.tool_calls[0]!
    expect(spoken.started_ms).toBeGreaterThan(tool.started_ms)
    expect(spoken.started_ms).toBeLessThan(tool.started_ms + tool.ms)
    const [greeted, waited] = await stack.speech.read(recorded)
    expect(waited!.text).toMatch(/just a moment/i)
    expect(waited!.startMs).toBeGreaterThan(greeted!.endMs)

    expectCost(detail)
    const webhook = await expectWebhook(stack, owner, call.id, 'call.completed')
    expect(JSON.parse(webhook.body)).toMatchObject({ goal_reached: true, data: { summary: detail.summary } })
    await expectSettled(stack, owner)
  })
})
