/** sipp: each cell is a scenario whose every step must match. Its audio is an echo of ours, or a file. */
import { join } from 'node:path'
import { expect } from 'vitest'
import type { TrunkPlan } from '../../media/contract/plan.ts'
import type { Leg } from '../../media/ports/leg.ts'
import { tone } from '../media/audio/sound.ts'
import { trunkPlan } from '../sip/trunk/bench.ts'
import { lacks } from '../support/needs.ts'
import type { Stack } from '../support/stack.ts'
import * as words from '../support/stack-sipp.ts'
import { pcap, tapRtp } from '../support/stack-wire.ts'
import { until } from '../support/world.ts'
import { AGENT_HZ, Agent } from './agent.ts'
import { interop } from './interop.ts'
import { answered, Line, legOf, OUR_NUMBER } from './line.ts'

const { receive, answer, answerInside, expectAnswer, maybeAnswer, pause, request, ringing, canceled } = words
const FILE_HZ = 440
const KEYS = '1590#'
const T1_MS = 50

let line: Line

const inside = (method: string, cseq: number, lines: readonly string[] = [], body: readonly string[] = []): string =>
  [
    `<send${method === 'ACK' ? '' : ' retrans="500"'}><![CDATA[\n`,
    `${method} sip:[service]@[remote_ip]:[remote_port] SIP/2.0`,
    'Via: SIP/2.0/UDP [local_ip]:[local_port];branch=[branch]',
    'Max-Forwards: 70',
    'From: <sip:+12125550111@[local_ip]:[local_port]>;tag=[pid]s[call_number]',
    'To: <sip:[service]@[remote_ip]:[remote_port]>[peer_tag_param]',
    'Call-ID: [call_id]',
    `CSeq: ${cseq} ${method}`,
    'Contact: <sip:sipp@[local_ip]:[local_port]>',
    ...lines,
    'Content-Length: [len]',
    '',
    ...body,
    '\n]]></send>',
  ].join('\n')

const SDP_TYPE = ['Content-Type: application/sdp']
const sdp = words.sdp()
const moved = sdp.map(text => text.replace('[media_port]', '[media_port+2]'))
const ok = [maybeAnswer(100), maybeAnswer(180), expectAnswer(200)]
const calls = [request('INVITE', sdp), ...ok, request('ACK')]
const answers = [...ringing, answer('200 OK', sdp), receive('ACK')]
const takesBye = [receive('BYE'), answerInside('200 OK')]
const again = (cseq: number, body: readonly string[]) => [
  inside('INVITE', cseq, SDP_TYPE, body),
  maybeAnswer(100),
  expectAnswer(200),
  inside('ACK', cseq),
]

/** It calls us. */
async function calling(steps: readonly string[], echo = true): Promise<words.Sipp> {
  line.bench.setTrunks(trunkPlan({ port: 5060 }))
  return words.startSipp(line, steps, { calls: OUR_NUMBER, echo, seconds: 20 })
}

/** We call it. */
async function called(steps: readonly string[], over: Partial<TrunkPlan> = {}, ringMs = 10_000, echo = true) {
  const sipp = await words.startSipp(line, steps, { echo, seconds: 20 })
  return { sipp, ...line.dial({ ...over, port: sipp.port }, { ring_timeout_ms: ringMs }) }
}

async function over(leg: Leg, sipp: words.Sipp): Promise<void> {
  await leg.hangup('agent_hangup')
  await sipp.done
}

const talk = async (leg: Leg): Promise<Agent> => {
  const agent = new Agent(leg)
  await agent.hears(AGENT_HZ)
  return agent
}

async function inbound(): Promise<void> {
  const sipp = await calling([...calls, pause(1200), inside('BYE', 2), expectAnswer(200)])
  const leg = await answered(await line.offer())
  await talk(leg)
  expect(await leg.ended).toEqual({ by: 'remote', reason: 'caller_hangup' })
  await sipp.done
}

async function outbound(): Promise<void> {
  const { sipp, result } = await called([...answers, ...takesBye])
  const leg = legOf(await result)
  await talk(leg)
  await over(leg, sipp)
}

/** It challenges, and verifies the credentials itself. */
async function digest(): Promise<void> {
  const challenge = answer('401 Prove It').replace(
    'Contact:',
    'WWW-Authenticate: Digest realm="sipp", nonce="4711", qop="auth", algorithm=MD5\nContact:',
  )
  const { sipp, result } = await called(
    [
      ...[receive('INVITE'), challenge, receive('ACK')],
      '<recv request="INVITE" crlf="true"><action><verifyauth assign_to="right" username="us" password="pass"/></action></recv>',
      '<nop next="1" test="right"/>',
      ...[answer('403 Wrong'), '<nop next="2"/>', '<label id="1"/>'],
      ...[answer('200 OK', sdp), receive('ACK'), ...takesBye, '<label id="2"/>'],
    ],
    { username: 'us', password: 'pass' },
  )
  const leg = legOf(await result)
  await talk(leg)
  await over(leg, sipp)
}

/** Its keys are a file; ours come back, since it gives back whatever it gets. */
async function dtmf(): Promise<void> {
  const file = pcap(join(line.folder, 'keys.pcap'), [
    { pcm: tone(FILE_HZ, 8000, 4000) },
    ...[...KEYS].flatMap(digit => [{ digit }, { pcm: tone(FILE_HZ, 8000, 1600) }]),
  ])
  const pressing = await calling([...calls, words.play(file), ...takesBye], false)
  const leg = await answered(await line.offer())
  await new Agent(leg).hearsKeys(KEYS)
  await over(leg, pressing)
  const hearing = await called([...answers, ...takesBye])
  const second = legOf(await hearing.result)
  const agent = await talk(second)
  await second.sendDtmf!('2*7D')
  await agent.hearsKeys('2*7D')
  await over(second, hearing.sipp)
}

async function hold(): Promise<void> {
  const held = [...sdp, 'a=sendonly']
  const sipp = await calling([...calls, pause(900), ...again(2, held), pause(1500), ...again(3, sdp), ...takesBye])
  const leg = await answered(await line.offer())
  const agent = await talk(leg)
  await agent.silence()
  await agent.hears(AGENT_HZ)
  await over(leg, sipp)
  expect(sipp.messages()).toContain('a=recvonly')
}

/** To another port, from where our sound then comes back. */
async function reinvite(): Promise<void> {
  const tap = await tapRtp(line as unknown as Stack)
  const sipp = await calling([...calls, pause(800), ...again(2, moved), ...takesBye])
  const leg = await answered(await line.offer())
  const agent = await talk(leg)
  const to = sipp.mediaPort + 2
  await tap.wait(
    () => tap.packets({ to }).length > 10 && tap.packets({ from: to }).length > 10,
    'sound by its new port',
  )
  await agent.hears(AGENT_HZ)
  await over(leg, sipp)
}

async function transfer(): Promise<void> {
  const notify = (cseq: number, status: string, state: string) =>
    inside(
      'NOTIFY',
      cseq,
      ['Event: refer', `Subscription-State: ${state}`, 'Content-Type: message/sipfrag;version=2.0'],
      [`SIP/2.0 ${status}`],
    )
  const sipp = await calling([
    ...[...calls, receive('REFER'), answerInside('202 Accepted')],
    ...[notify(2, '100 Trying', 'active'), expectAnswer(200)],
    ...[notify(3, '200 OK', 'terminated;reason=noresource'), expectAnswer(200), ...takesBye],
  ])
  const leg = await answered(await line.offer())
  await talk(leg)
  expect(await leg.transfer!('sip:desk@pbx.example')).toEqual({ ok: true })
  expect((await leg.ended).reason).toBe('transferred')
  await sipp.done
  expect(sipp.messages()).toMatch(/^Refer-To: <sip:desk@pbx\.example>/m)
}

async function early(): Promise<void> {
  const file = pcap(join(line.folder, 'early.pcap'), [{ pcm: tone(FILE_HZ, 8000, 8000 * 4) }])
  const { sipp, result, rings } = await called(
    [
      ...[receive('INVITE'), answer('183 Session Progress', sdp), words.play(file), pause(800)],
      ...[answer('200 OK', sdp), receive('ACK'), ...takesBye],
    ],
    {},
    10_000,
    false,
  )
  await until(() => line.sessions.at(-1)!.lastReceivedMs() !== null, 'sound before the answer')
  expect(sipp.messages()).not.toContain('SIP/2.0 200 OK')
  const leg = legOf(await result)
  expect(rings).toHaveLength(1)
  await new Agent(leg).hears(FILE_HZ)
  await over(leg, sipp)
}

async function cancel(): Promise<void> {
  const ours = await called([...ringing, ...canceled])
  await until(() => ours.rings.length > 0, 'news that it rings')
  ours.abort()
  expect(await ours.result).toMatchObject({ failure: { status: 'canceled', sipCode: 487 } })
  await ours.sipp.done
  const giveUp = words.acknowledge(3).replaceAll('ACK', 'CANCEL').replace('[peer_tag_param]', '')
  const theirs = await calling([
    ...[request('INVITE', sdp), expectAnswer(100), pause(300), giveUp],
    ...[maybeAnswer(180), expectAnswer(200), expectAnswer(487), words.acknowledge(7)],
  ])
  const offer = await line.offer()
  await until(() => offer.signal.aborted, 'its CANCEL')
  expect(await offer.answer()).toBeNull()
  await theirs.done
}

/** Also of the ACK. */
async function timeouts(): Promise<void> {
  const silent = await called([...ringing, ...canceled], {}, 700)
  expect(await silent.result).toMatchObject({ failure: { status: 'no_answer', reason: 'no_answer', sipCode: 487 } })
  await silent.sipp.done
  const mute = await calling([...calls, ...takesBye], false)
  const leg = await answered(await line.offer())
  expect(await leg.ended).toEqual({ by: 'network', reason: 'media_timeout' })
  await mute.done
  const forgetful = await calling([request('INVITE', sdp), ...ok, ...takesBye])
  const second = await answered(await line.offer())
  await talk(second)
  expect(await second.ended).toEqual({ by: 'network', reason: 'connection_lost' })
  await forgetful.done
}

interop('sipp', {
  lacks: lacks('sipp', 'openssl') ? 'sipp or openssl is not there' : null,
  open: async () => {
    line = await Line.open({ t1: T1_MS })
  },
  close: () => line?.close(),
  cells: {
    inbound,
    outbound,
    digest,
    DTMF: dtmf,
    hold,
    're-INVITE': reinvite,
    transfer,
    'early media': early,
    CANCEL: cancel,
    timeouts,
  },
})
