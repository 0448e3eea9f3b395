import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Said } from '../../infra/simulate/caller.ts'
import { judge, type SimulationResult } from '../../infra/simulate/judge.ts'
import { measure, plainWords, wordErrors } from '../../infra/simulate/measure.ts'
import { createSimulatedNetwork } from '../../infra/simulate/network.ts'
import { CallRefused, call } from '../../infra/simulate/phone.ts'
import { parseScenario } from '../../infra/simulate/scenario.ts'
import { details, type SpokenResult, summary, totals } from '../../infra/simulate/table.ts'
import { startToolServer } from '../../infra/simulate/tool-server.ts'
import { createVoices } from '../../infra/simulate/voice.ts'
import { rms } from '../../media/audio/frames.ts'
import { decodeG711 } from '../../media/audio/g711.ts'
import { parseRtp } from '../../media/rtp/packet.ts'
import { headerOf, type SipRequest, serialise } from '../../sip/text/message.ts'
import { answerOffer } from '../../sip/text/offer.ts'
import { parseMessage } from '../../sip/text/parse.ts'

describe('the simulated network', () => {
  const quiet = { loss: 0, jitter_ms: 0, noise_dbfs: null }
  it('loses, delays and adds noise as configured, deterministically', () => {
    const fates = () => {
      const line = createSimulatedNetwork({ ...quiet, loss: 0.05, jitter_ms: 40 }, 3)
      return Array.from({ length: 20_000 }, () => line.fate())
    }
    const [first, second] = [fates(), fates()]
    expect(second).toEqual(first)
    const late = first.filter(fate => fate !== null)
    expect(1 - late.length / first.length).toBeCloseTo(0.05, 2)
    expect(Math.min(...late)).toBeGreaterThanOrEqual(0)
    expect(Math.max(...late)).toBeLessThan(40)
    expect(Math.max(...late)).toBeGreaterThan(38)
  })

  it('loses the same packets for the same words', () => {
    const fates = (silent: number) => {
      const line = createSimulatedNetwork({ ...quiet, loss: 0.05, jitter_ms: 40 }, 3)
      const lines = [1, 2].map(() => {
        for (let i = 0; i < silent; i++) [line.fate(), line.colour(new Int16Array(160))]
        line.begin()
        return Array.from({ length: 500 }, () => line.fate())
      })
      expect(lines[1]).not.toEqual(lines[0])
      return lines
    }
    expect(fates(40)).toEqual(fates(173))
  })

  it.each([
    [-40, 32_768 * 0.01],
    [null, 10],
  ])('at %s dBFS is as loud as that', (noise_dbfs, level) => {
    const coloured = createSimulatedNetwork({ ...quiet, noise_dbfs }).colour(new Int16Array(16_000))
    expect(rms(coloured)).toBeGreaterThan(level * 0.95)
    expect(rms(coloured)).toBeLessThan(level * 1.05)
  })

  it('never wraps around', () => {
    const loud = createSimulatedNetwork({ ...quiet, noise_dbfs: -10 }).colour(new Int16Array(8000).fill(32_767))
    expect(loud.every(sample => sample > 0)).toBe(true)
  })
})

/** Loud packets every 20 ms, from and to inclusive. */
const sound = (fromMs: number, toMs: number) =>
  Array.from({ length: Math.floor((toMs - fromMs) / 20) + 1 }, (_, i) => fromMs + 20 * i)
const said = (fromMs: number, toMs: number, words = 'yes', kind: Said['kind'] = 'turn'): Said => ({
  words,
  fromMs,
  toMs,
  kind,
})
const quietCall = { interruptedMs: [], understood: '', ended: true }

describe('measurements outside the engine', () => {
  it("is the time from the caller's last voiced packet to the agent's first", () => {
    const heard = [...sound(0, 1000), ...sound(3600, 4600), ...sound(6000, 6500)]
    const { answers, unanswered } = measure({ ...quietCall, heard, said: [said(2000, 3000), said(5000, 5500)] })
    expect(answers).toEqual([600, 500])
    expect(unanswered).toBe(0)
  })

  it('counts an unanswered turn, but not a goodbye', () => {
    const turns = [said(1000, 2000), said(9000, 9500)]
    expect(measure({ ...quietCall, heard: sound(0, 500), said: turns })).toMatchObject({ unanswered: 1, answers: [] })
    const { unanswered } = measure({ ...quietCall, ended: false, heard: sound(0, 500), said: turns })
    expect(unanswered).toBe(2)
  })

  it('counts an answer during the words as a cut-off, not one at the end', () => {
    const cut = (fromMs: number) =>
      measure({ ...quietCall, heard: sound(fromMs, fromMs + 500), said: [said(1000, 4000)] }).cutOffs
    expect([cut(2000), cut(3950), cut(1050), cut(4500)]).toEqual([1, 0, 0, 0])
  })

  it('classifies missed, false and correct barge-ins', () => {
    const heard = [...sound(0, 3000), ...sound(9000, 12_000)]
    const over = said(1000, 2000, 'stop', 'over')
    const outside = (interruptedMs: number[], one: Said) =>
      measure({ ...quietCall, heard, said: [one], interruptedMs }).bargeIns
    expect(outside([1300], over)).toMatchObject({ wanted: 1, missed: 0, false: 0, stoppedMs: [2000] })
    expect(outside([], over)).toMatchObject({ wanted: 1, missed: 1, false: 0 })
    expect(outside([10_000], over)).toMatchObject({ missed: 1, false: 1 })
    expect(outside([1300], said(1000, 1400, 'uh-huh', 'aside'))).toMatchObject({ wanted: 0, missed: 0, false: 1 })
  })

  it('is the share of required words that were transcribed', () => {
    const words = [said(0, 100, 'For four people.'), said(200, 300, 'uh-huh', 'aside'), said(400, 500, 'At 7 PM')]
    const counted = (all: Said[], understood: string) =>
      measure({ ...quietCall, heard: [], said: all, understood }).words
    expect(counted(words, 'for 4 people at seven am')).toEqual({ said: 6, wrong: 1 })
    const keys = said(600, 600, '90210#', 'keys')
    expect(counted([...words, keys], 'for 4 people at seven pm 90210')).toEqual({ said: 11, wrong: 0 })
  })
})

describe('words', () => {
  it.each([
    ['Call 415-555, 21 or 07.', 'call four one five five five five twenty one or zero seven'],
    ["It's Всё, ёлка", 'its все елка'],
    ['John@example.com. Good-bye.', 'john at example dot com goodbye'],
    ['', ''],
  ])('of %j are %j', (text, words) => expect(plainWords(text).join(' ')).toBe(words))
  it.each([
    ['a b c d', 'a b c d', 0],
    ['a b c d', 'a c d', 1],
    ['a b c d', 'a b x c d', 1],
    ['a b', '', 2],
    ['', 'a', 1],
  ])('from %j to %j differ by %i', (a, b, wrong) => expect(wordErrors(a, b).wrong).toBe(wrong))
})

describe('relative dates in expectations', () => {
  it('is relative to the day of the call', () => {
    const tool = { name: 'book', arguments: { date: '2026-12-01' }, status: 'ok' }
    const outcome = { turns: [], tools: [tool] } as unknown as SimulationResult
    const wants = (date: string) => ({
      tools: [{ name: 'book', arguments: { date } }],
      said: [],
      not_said: [],
      understood: [],
    })
    expect(judge(wants('today+1'), outcome, '2026-11-30')).toEqual([])
    expect(judge(wants('today'), outcome, '2026-11-30')).toHaveLength(1)
  })
})

describe('the table', () => {
  const outside = (answers: number[], wrong: number) => ({
    answers,
    unanswered: 0,
    cutOffs: 1,
    words: { said: 10, wrong },
    bargeIns: { wanted: 1, missed: 0, false: 1, stoppedMs: [300] },
  })
  const result = (language: string, loss: number, failures: string[], answers: number[]) =>
    ({
      name: `a | b ${language}`,
      file: 'x.yaml',
      mode: 'audio',
      seconds: 1,
      failures,
      outcome: { outside: outside(answers, 1), recordMs: answers },
      scenario: { language, line: { codec: 'PCMU', loss, jitter_ms: 0, noise_dbfs: null } },
    }) as unknown as SpokenResult
  const results = [result('en', 0, [], [500, 700]), result('ru', 0.05, ['no | good'], [900])]

  it('totals all calls, failed ones too', () => {
    const broken = { ...results[0]!, outcome: null, failures: ['error: x'] }
    expect(totals([...results, broken])).toMatchObject({
      calls: 3,
      succeeded: 1,
      wordErrors: '10.0 %',
      bargeIns: 2,
      missed: 0,
      falseOnes: 2,
      cutOffs: 2,
      outside: '700 / 900 ms',
      turns: 3,
    })
  })

  it('is Markdown with as many cells in each row', () => {
    for (const table of [summary(results), details(results)]) {
      const counts = table.split('\n').map(line => line.replaceAll('\\|', '').split('|').length)
      expect(new Set(counts).size).toBe(1)
    }
    expect(summary(results)).toContain('| 5 % loss | 1 | 0 (0 %)')
  })
})

describe('a caller’s voice', () => {
  let folder: string
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'parley-voice-'))
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  const spoken = async function* () {
    yield { pcm: new Int16Array(16_000).fill(4000), sampleRate: 16_000 }
  }
  const voices = createVoices(async () => ({ speak: spoken }))

  it('starts and ends with speech, in whole frames, with the requested pause', async () => {
    const pcm = await voices.sound({ say: 'one … two', pause_ms: 500 }, 'en', folder)
    expect(pcm.length % 160).toBe(0)
    expect(pcm.length / 8).toBeGreaterThan(2450)
    expect(pcm.length / 8).toBeLessThan(2600)
    expect(rms(pcm.subarray(0, 160))).toBeGreaterThan(200)
    expect(rms(pcm.subarray(pcm.length / 2 - 80, pcm.length / 2 + 80))).toBe(0)
  })

  it('plays the named recording, or reports it missing', async () => {
    writeFileSync(join(folder, 'a.ul'), new Uint8Array(1600).fill(0x10))
    expect(await voices.sound({ say: 'x', file: 'a.ul' }, 'en', folder)).toHaveLength(1600)
    writeFileSync(join(folder, 'b.wav'), 'no sound')
    for (const file of ['b.wav', 'none.ul'])
      await expect(voices.sound({ say: 'x', file }, 'en', folder)).rejects.toThrow(file)
  })
})

describe('the tools’ answers', () => {
  it('are served below another address and are known to be slow', async () => {
    const server = await startToolServer()
    const place = server.place({
      slow: { status: 201, body: { ok: 1 }, delay_ms: 30 },
      never: { status: 200, body: {}, delay_ms: 0, fails: 'timeout' },
      gone: { status: 200, body: {}, delay_ms: 0, fails: 'network' },
    })
    const tool = (name: string) => place.here({ name, url: 'https://shop.example:8443/a/{id}?b={c}' } as never)
    try {
      expect(tool('other').url).toBe('https://shop.example:8443/a/{id}?b={c}')
      const { url } = tool('slow')
      expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/[^?]*\/slow\/a\/\{id\}\?b=\{c\}$/)
      const answer = await fetch(url.replace('{id}', '7'))
      expect([answer.status, await answer.json()]).toEqual([201, { ok: 1 }])
      await expect(fetch(tool('gone').url)).rejects.toThrow()
      await expect.poll(() => [place.waiting(), place.settled()]).toEqual([false, 2])
      const abort = new AbortController()
      const waiting = fetch(tool('never').url, { signal: abort.signal })
      await expect.poll(() => place.waiting()).toBe(true)
      abort.abort()
      await expect(waiting).rejects.toThrow()
      await expect.poll(() => [place.waiting(), place.settled()]).toEqual([false, 3])
      place.leave()
      expect((await fetch(url)).status).toBe(404)
    } finally {
      await server.close()
    }
  })
})

/** Answers one call as a stranger would, and keeps what it got. */
async function startFarEnd(status = 200) {
  const [sip, rtp] = [createSocket('udp4'), createSocket('udp4')]
  for (const socket of [sip, rtp]) {
    socket.bind(0, '127.0.0.1')
    await once(socket, 'listening')
  }
  const methods: string[] = []
  const packets: NonNullable<ReturnType<typeof parseRtp>>[] = []
  let caller = 0
  rtp.on('message', (data, from) => {
    caller = from.port
    const packet = parseRtp(data)
    if (packet) packets.push({ ...packet, payload: Uint8Array.from(packet.payload) })
  })
  const answerTo = (request: SipRequest) => {
    const headers = request.headers
      .filter(([name]) => ['Via', 'From', 'Call-ID', 'CSeq'].includes(name))
      .concat([
        ['To', `${headerOf(request, 'To')};tag=far`],
        ['Contact', `<sip:far@127.0.0.1:${sip.address().port}>`],
      ])
    const local = { address: '127.0.0.1', port: rtp.address().port, codecs: ['PCMA', 'PCMU'] as const }
    const answer = answerOffer(request.body.toString(), { ...local, sessionId: '1', version: 1 })
    const body = request.method === 'INVITE' && status === 200 && answer.ok ? answer.sdp : ''
    const code = request.method === 'INVITE' ? status : 200
    return serialise({ kind: 'response', status: code, reason: 'So', headers, body: Buffer.from(body) })
  }
  sip.on('message', (bytes, from) => {
    const parsed = parseMessage(bytes)
    if (!parsed.ok || parsed.message.kind !== 'request') return
    methods.push(parsed.message.method)
    // The first INVITE is lost.
    if (methods.length > 1 && parsed.message.method !== 'ACK') sip.send(answerTo(parsed.message), from.port)
  })
  return {
    methods,
    packets,
    port: sip.address().port,
    speak: (bytes: Uint8Array) => rtp.send(bytes, caller, '127.0.0.1'),
    close() {
      sip.close()
      rtp.close()
    },
  }
}

describe('the simulated phone', () => {
  const dial = (port: number, codec: 'PCMU' | 'PCMA' = 'PCMU', loss = 0) =>
    call({
      sip: { host: '127.0.0.1', port },
      host: '127.0.0.1',
      from: '+14155550100',
      to: '+12025550100',
      codec,
      line: createSimulatedNetwork({ loss, jitter_ms: 0, noise_dbfs: null }),
    })

  it('retransmits a lost INVITE, speaks, presses keys, receives audio, and hangs up', async () => {
    const far = await startFarEnd()
    const phone = await dial(far.port, 'PCMA')
    try {
      const spoken = await phone.say(new Int16Array(1600).fill(8000))
      expect(spoken.toMs - spoken.fromMs).toBeGreaterThan(120)
      expect(spoken.toMs - spoken.fromMs).toBeLessThan(400)
      await phone.press('5')
      const loud = far.packets.filter(
        ({ payloadType, payload }) => payloadType === 8 && rms(decodeG711('PCMA', payload)) > 7000,
      )
      expect(loud).toHaveLength(10)
      const keys = far.packets.filter(({ payloadType }) => payloadType === 101)
      expect(keys.length).toBeGreaterThan(5)
      expect(keys.every(({ payload }) => payload[0] === 5)).toBe(true)
      const packet = Buffer.concat([Buffer.from([0x80, 8, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1]), Buffer.alloc(160, 0x2a)])
      far.speak(packet)
      expect(await phone.until(() => phone.heard.length === 1, 2000)).toBe(true)
      await phone.hangUp()
      expect(phone.over).toBe(true)
      expect(far.methods).toEqual(['INVITE', 'INVITE', 'ACK', 'BYE'])
    } finally {
      phone.close()
      far.close()
    }
  })

  it('drops packets, visible in sequence numbers', async () => {
    const far = await startFarEnd()
    const phone = await dial(far.port, 'PCMU', 0.3)
    try {
      await phone.say(new Int16Array(16_000).fill(3000))
      const numbers = far.packets.map(({ sequence }) => sequence)
      expect(numbers.length).toBeLessThan(90)
      expect(numbers.at(-1)! - numbers[0]!).toBeGreaterThan(numbers.length + 8)
    } finally {
      await phone.hangUp()
      far.close()
    }
  })

  it('reports the rejection', async () => {
    const far = await startFarEnd(486)
    await expect(dial(far.port)).rejects.toThrow(CallRefused)
    await expect.poll(() => far.methods).toEqual(['INVITE', 'INVITE', 'ACK'])
    far.close()
  })
})

describe('an audio scenario', () => {
  it('rejects a recording that is not audio', () => {
    const text = 'name: x\nmode: audio\ncaller:\n  - { say: hi, file: hi.mp3 }\n'
    expect(() => parseScenario('x.yaml', text)).toThrow(/x\.yaml:4: .*WAV file/)
  })
})
