/** Transfers apart from signalling: audio paths, one transfer at a time, precedence of operators. */
import { describe, expect, it } from 'vitest'
import { Transfers } from '../../../media/call/transfers.ts'
import type { CallEventBody } from '../../../media/contract/messages.ts'
import { createEnergyVad } from '../../../media/models/energy-vad.ts'
import type { DialOptions, DialResult } from '../../../media/ports/dialer.ts'
import type { Leg, LegEnd, LegSink } from '../../../media/ports/leg.ts'
import { fakeClock, settle } from '../../fakes/line.ts'
import { plan } from '../../fakes/plan.ts'
import { fakeStt, fakeTts } from '../../fakes/speech.ts'
import { quietLog } from '../../support/world.ts'

function fakeLeg(sampleRate: number, line?: Leg['line']) {
  let end: (end: LegEnd) => void = () => {}
  const leg = {
    kind: 'sip' as const,
    sampleRate,
    ...(line ? { line } : {}),
    sink: null as LegSink | null,
    keys: '',
    hungUp: 0,
    attach(sink: LegSink) {
      leg.sink = sink
    },
    ended: new Promise<LegEnd>(resolve => (end = resolve)),
    async hangup() {
      leg.hungUp++
      end({ by: 'local', reason: 'transferred' })
    },
    async sendDtmf(keys: string) {
      leg.keys += keys
    },
    stats: () => ({
      codec: '',
      packets_sent: 0,
      packets_received: 0,
      packets_lost: 0,
      packets_late: 0,
      packets_rejected: 0,
      jitter_ms: 0,
    }),
  }
  return leg satisfies Leg
}

const target = { name: 'sales', to: '+4930123456', description: '', announce: null }

function world({ mayStepAside = true } = {}) {
  const caller = fakeLeg(8000, { trunkId: 't', number: '+12025550100', transfer: 'bridge' })
  const second = fakeLeg(16_000)
  const dials: DialOptions[] = []
  let answer: (result: DialResult) => void = () => {}
  const events: CallEventBody[] = []
  const clock = fakeClock()
  const transfers = new Transfers({
    plan: plan(),
    leg: caller,
    clock,
    log: quietLog,
    vad: createEnergyVad(),
    stt: fakeStt(['Sales.']),
    tts: fakeTts(),
    dialer: {
      dial(options) {
        dials.push(options)
        return new Promise(resolve => (answer = resolve))
      },
    },
    talk: { stepAside: () => mayStepAside, stepIn() {}, operatorSaid() {}, instruct() {} },
    emit: event => events.push(event),
  })
  const keys: string[] = []
  let agent: Int16Array | null = null
  const sink = transfers.sink({ pull: () => agent, push() {}, dtmf: key => keys.push(key) })
  const loud = () => sink.pull(0)?.some(sample => sample !== 0) ?? false
  return {
    caller,
    second,
    dials,
    events,
    transfers,
    sink,
    keys,
    clock,
    loud,
    says: (pcm: Int16Array | null) => (agent = pcm),
    hears: (ms: number) => Array.from({ length: ms / 20 }, loud).filter(Boolean).length * 20,
    async answers(result: DialResult = { ok: true, leg: second }) {
      answer(result)
      await settle()
    },
  }
}

describe('a transferred caller', () => {
  it("hears the agent's sentence, then music", async () => {
    const w = world()
    expect(w.hears(1000)).toBe(0)
    void w.transfers.give(target, '')
    w.says(new Int16Array(160).fill(9))
    expect(w.sink.pull(0)![0]).toBe(9)
    w.says(null)
    expect(w.hears(380)).toBe(0)
    expect(w.hears(2000)).toBeGreaterThan(1500)
  })

  it('is joined at both sample rates; DTMF passes once', async () => {
    const w = world()
    const result = w.transfers.give(target, '')
    expect(w.dials[0]!.plan).toMatchObject({ trunk_id: 't', from: '+12025550100', to: '+4930123456' })
    await w.answers()
    expect(await result).toEqual({ ok: true })
    for (let i = 0; i < 4; i++) {
      w.second.sink!.push({ pcm: new Int16Array(320).fill(3000), atMs: 0, concealed: false })
      w.sink.push({ pcm: new Int16Array(160).fill(2000), atMs: 0, concealed: false })
    }
    w.sink.pull(0)
    expect(w.sink.pull(0)![80]).toBeCloseTo(3000, -2)
    w.second.sink!.pull(0)
    expect(w.second.sink!.pull(0)![160]).toBeCloseTo(2000, -2)
    w.sink.dtmf('1')
    w.sink.dtmf('2', true) // its tones are on their way already
    w.second.sink!.dtmf('3')
    expect([w.second.keys, w.caller.keys, w.keys]).toEqual(['1', '3', []])
  })

  it('is transferred to one target at a time', async () => {
    const w = world()
    void w.transfers.give(target, '')
    expect(await w.transfers.give(target, '')).toMatchObject({ ok: false, code: 'busy' })
    await w.answers()
    expect(await w.transfers.give(target, '')).toMatchObject({ ok: false, code: 'busy' })
    expect(w.dials).toHaveLength(1)
  })

  it('goes to an operator who takes over; a late answer is hung up', async () => {
    const w = world()
    const result = w.transfers.give(target, '')
    w.transfers.cancel('A colleague has taken the call over.')
    expect(await result).toMatchObject({ ok: false, reason: 'A colleague has taken the call over.' })
    expect(w.dials[0]!.signal.aborted).toBe(true)
    await w.answers()
    expect(w.second.hungUp).toBe(1)
    expect(w.transfers.joined).toBe(false)
    const again = w.transfers.give(target, '')
    await w.answers({ ok: false, failure: { status: 'busy', reason: 'busy', sipCode: 486 } })
    expect(await again).toMatchObject({ ok: false, reason: 'Their line is busy.' })
  })

  it('is not transferred during the end of the call', async () => {
    const w = world({ mayStepAside: false })
    void w.transfers.give(target, '')
    await w.answers()
    expect([w.transfers.joined, w.second.hungUp, w.caller.hungUp]).toEqual([false, 1, 0])
  })

  it('hears music while waiting for an operator', async () => {
    const w = world()
    let came = () => {}
    const waited = w.transfers.waitFor(() => new Promise(resolve => (came = () => resolve({ ok: true }))))
    expect(w.hears(3000)).toBeGreaterThan(2000)
    came()
    await waited
    expect(w.hears(1000)).toBe(0)
  })

  it('without a trunk cannot be transferred to a phone', async () => {
    const w = world()
    delete (w.caller as { line?: unknown }).line
    expect(await w.transfers.give(target, '')).toMatchObject({ ok: false, code: 'invalid' })
  })
})
