/**
 * Logs at the most verbose level hold no personal data and no secrets: whole calls with known numbers, names, words,
 * keys and passwords, some of which fail; then all log files are searched.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, inject } from 'vitest'
import { createKey } from '../../control/access/keys/service.ts'
import { needs } from '../support/needs.ts'
import { type Stack, startStack } from '../support/stack.ts'
import type { Detail, Owner } from '../support/stack-owner.ts'
import {
  acknowledge,
  answerInside,
  expectAnswer,
  freeSipPort,
  maybeAnswer,
  play,
  receive,
  refusing,
  request,
  sdp,
  startSipp,
  taken,
} from '../support/stack-sipp.ts'
import { silence } from '../support/stack-speech.ts'
import { pcap } from '../support/stack-wire.ts'
import { json } from '../support/stack-world.ts'
import { until } from '../support/world.ts'

const { it } = needs('sipp')

const CALLEE = '+14155550177'
const CALLER = '+12125550111'
const NAME = 'Zebediah Quatermain'
const SECRETS = {
  'password of the trunk': 'trunk-word-7f3a91c2',
  'secret of a tool': 'tool-word-7f3a91c2',
  'key that nobody has': 'wrong-key-7f3a91c2',
  'path of the webhook': 'hook-word-7f3a91c2',
}
const VAR = 'a turquoise penny-farthing'
const ASKED = 'What are the opening hours of the library please?'
const TOLD = `The library belongs to ${NAME} and opens at nine.`

let stack: Stack
let owner: Owner
let key: string
beforeAll(async () => {
  stack = await startStack({ PARLEY_LOG_LEVEL: 'debug' })
})
afterAll(() => stack?.stop())

const project = (url: string) => ({
  greeting: `Hello {{who}}, your {{what}} is ready.`,
  tools: [
    {
      name: 'opening_hours',
      description: 'Find the opening hours of a room.',
      method: 'GET' as const,
      url: `${url}/rooms/{room}`,
      parameters: {
        type: 'object',
        properties: { room: { type: 'string', enum: ['library', 'gallery'], description: 'Which room?' } },
        required: ['room'],
      },
      headers: { authorization: 'Bearer {{secret:MUSEUM}}' },
    },
  ],
})

/** Challenge of a carrier. */
const CHALLENGE = 'WWW-Authenticate: Digest realm="carrier.test", nonce="4f1c", algorithm=MD5'

async function calledOut(file: string): Promise<Detail> {
  const sipp = await startSipp(stack, [...refusing(`401 Unauthorized\n${CHALLENGE}`), ...taken([play(file)])])
  owner = await stack.owner({
    trunk: { port: sipp.port, username: 'museum', password: SECRETS['password of the trunk'] },
    webhook: `${stack.world.url}/hook/${SECRETS['path of the webhook']}`,
    secrets: { MUSEUM: SECRETS['secret of a tool'] },
    project: project(stack.world.url),
  })
  key = (await createKey(stack.parts, owner.id, { name: 'searched', scopes: ['read', 'write'] })).value
  const placed = await fetch(`${stack.baseUrl}/v1/public/calls`, {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify({ project_id: owner.projectId, phone: CALLEE, vars: { who: NAME, what: VAR } }),
  })
  expect(placed.status).toBe(201)
  const { id } = (await placed.json()) as { id: string }
  const call = await owner.follow(id)
  await call.wait('tool.finished')
  await call.wait('turn.finished', ({ turn }) => turn.role === 'agent' && turn.text.includes(NAME))
  await owner.rest('POST', `/calls/${id}/hangup`)
  await call.ended(40_000)
  await sipp.done
  expect(sipp.messages()).toMatch(/^Authorization: Digest username="museum"/m)
  return owner.detail(id)
}

async function calledIn(): Promise<Detail> {
  const port = await freeSipPort()
  const callee = await stack.owner({ trunk: { port }, project: { greeting: `Good morning, here is ${NAME}.` } })
  const sipp = await startSipp(
    stack,
    [
      ...[request('INVITE', sdp()), maybeAnswer(100), maybeAnswer(180), expectAnswer(200, 'rrs="true"')],
      ...[request('ACK'), receive('BYE'), answerInside('200 OK')],
    ],
    { calls: callee.number, port },
  )
  const { id } = (await until(() => callee.newest('in'), 'the call'))!
  const call = await callee.follow(id)
  await call.agentSaid(1)
  await callee.rest('POST', `/calls/${id}/hangup`)
  await call.ended(40_000)
  await sipp.done
  return callee.detail(id)
}

/** An unknown number from an allowed source; an unusable answer; invalid keys and addresses. */
async function goesWrong(): Promise<void> {
  const port = await freeSipPort()
  const other = await stack.owner({ trunk: { port }, project: {} })
  const nobody = '+12025559999'
  const stranger = [request('INVITE', sdp()), maybeAnswer(100), expectAnswer(404), acknowledge(3)]
  await (await startSipp(stack, stranger, { calls: nobody, port })).done
  const sttUnavailable = await startSipp(stack, refusing('484 Address Incomplete'), { port })
  const call = await other.place(CALLEE)
  await call.ended()
  await sttUnavailable.done
  const headers = { 'x-api-key': SECRETS['key that nobody has'] }
  expect((await fetch(`${stack.baseUrl}/v1/public/contacts?q=${encodeURIComponent(NAME)}`, { headers })).status).toBe(
    401,
  )
  const asked = await fetch(`${stack.baseUrl}/v1/public/calls/${encodeURIComponent(CALLEE)}`, {
    headers: { 'x-api-key': key },
  })
  expect(asked.status).toBe(404)
  const torn = await fetch(`${stack.baseUrl}/v1/public/calls`, {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    body: `{"phone":"${CALLEE}","vars":{"who":"${NAME}"}`,
  })
  expect(torn.status).toBe(400)
}

/** The log of every process, by its file; the telephones of the test write elsewhere. */
const logs = (): Map<string, string> =>
  new Map(
    readdirSync(stack.folder)
      .filter(name => name.endsWith('.log'))
      .map(name => [name, readFileSync(join(stack.folder, name), 'utf8')]),
  )

it('no log holds a number, a name, a word or a secret of any call', { timeout: 240_000 }, async () => {
  stack.world.on('/rooms', (_, response) => json(response, { message: TOLD }))
  stack.world.on('/hook', (_, response) => response.writeHead(500).end(`No room for ${NAME}`))
  const file = pcap(join(stack.folder, 'private.pcap'), [
    { pcm: silence(7000) },
    { pcm: await stack.speech.say(ASKED) },
    { pcm: silence(20_000) },
  ])
  const out = await calledOut(file)
  const contact = await owner.rest('GET', `/contacts?q=${CALLEE.slice(1)}`)
  expect(contact.status).toBe(200)
  await stack.world.wait(({ body, path }) => path.startsWith('/hook/') && body.includes(out.id), 'the webhook')
  const inward = await calledIn()
  await goesWrong()

  const heard = out.transcript.filter(({ role }) => role === 'caller').map(({ text }) => text)
  expect(heard.length).toBeGreaterThan(0)
  expect(out.transcript.map(({ text }) => text).join(' ')).toContain(NAME)
  expect(stack.world.received.map(({ headers }) => headers.authorization)).toContain(
    `Bearer ${SECRETS['secret of a tool']}`,
  )
  const wanted: Record<string, string> = {
    ...SECRETS,
    'API key': key,
    'secret of the webhook': owner.webhookSecret!,
    'secret of the installation': stack.env['PARLEY_SECRET']!,
    'secret of the SIP server': stack.env['DRACHTIO_SECRET']!,
    'a value of a var': VAR,
    'first name': NAME.split(' ')[0]!,
    'last name': NAME.split(' ')[1]!,
    'answer of a tool': 'opens at nine',
    ...Object.fromEntries(
      [CALLEE, CALLER, owner.number, inward.to, '+12025559999'].map(n => [`number ${n}`, n.slice(1)]),
    ),
    ...Object.fromEntries(heard.map((text, i) => [`what the caller said, ${i + 1}`, text])),
    'what was asked': 'opening hours',
    'what the agent said': 'is ready',
  }
  const files = logs()
  expect([...files.keys()]).toEqual(
    expect.arrayContaining(['control.log', 'engine.log', 'sip-server.log', 'speech.log']),
  )
  // The search finds what is there: ids, routes, and what processes say at their lowest level.
  const all = [...files.values()].join('\n')
  const server = inject('drachtio') ? 'Starting drachtio' : '"name":"sip-server"'
  for (const there of [out.id, '"route":"/v1/public/calls"', 'outbound call failed', server]) {
    expect(all).toContain(there)
  }
  const found = [...files].flatMap(([name, text]) =>
    Object.entries(wanted)
      .filter(([, value]) => text.toLowerCase().includes(value.toLowerCase()))
      .map(([what, value]) => {
        const at = text.toLowerCase().indexOf(value.toLowerCase())
        return `${name} holds ${what}: ${text.slice(Math.max(0, at - 120), at + 80)}`
      }),
  )
  expect(found).toEqual([])
})
