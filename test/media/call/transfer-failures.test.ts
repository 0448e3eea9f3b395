/** Transfers that fail: no party is left in silence, and no leg stays open. */
import { describe, expect, it } from 'vitest'
import { Transfers } from '../../../media/call/transfers.ts'
import type { CallEventBody } from '../../../media/contract/messages.ts'
import type { TransferTarget } from '../../../media/contract/plan.ts'
import { createEnergyVad } from '../../../media/models/energy-vad.ts'
import type { DialOptions, DialResult } from '../../../media/ports/dialer.ts'
import type { Leg, LegEnd, LegSink, TransferResult } from '../../../media/ports/leg.ts'
import { fakeClock, settle } from '../../fakes/line.ts'
import { plan } from '../../fakes/plan.ts'
import { fakeStt, fakeTts } from '../../fakes/speech.ts'
import { quietLog } from '../../support/world.ts'

function fakeLeg(sampleRate: number, line?: Leg['line']) {
  const { promise: ended, resolve: end } = Promise.withResolvers<LegEnd>()
  const hangUps: PromiseWithResolvers<void>[] = []
  const leg = {
    kind: 'sip' as const,
    sampleRate,
    ...(line ? { line } : {}),
    sink: null as LegSink | null,
    hangUps,
    end,
    attach(sink: LegSink) {
      leg.sink = sink
    },
    ended,
    hangup() {
      end({ by: 'local', reason: 'transferred' })
      hangUps.push(Promise.withResolvers<void>())
      return hangUps.at(-1)!.promise
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

const target: TransferTarget = { name: 'sales', to: '+4930123456', description: '', announce: null }
const remote: LegEnd = { by: 'remote', reason: 'caller_hangup' }
const frame = (level: number, samples = 160) => ({
  pcm: new Int16Array(samples).fill(level),
  atMs: 0,
  concealed: false,
})

function world({ by = 'bridge' as 'bridge' | 'refer', mayStepAside = true } = {}) {
  const referred: { result: PromiseWithResolvers<TransferResult>; consulted: boolean }[] = []
  const caller = Object.assign(fakeLeg(8000, { trunkId: 't', number: '+12025550100', transfer: by }), {
    transfer(_to: string, consulted?: Leg) {
      referred.push({ result: Promise.withResolvers(), consulted: consulted !== undefined })
      return referred.at(-1)!.result.promise
    },
  })
  const second = fakeLeg(16_000)
  const dials: DialOptions[] = []
  const dialed = Promise.withResolvers<DialResult>()
  const events: CallEventBody[] = []
  const said: string[] = []
  const clock = fakeClock()
  const tts = fakeTts()
  const talk = {
    stepAside: () => mayStepAside,
    stepIn() {},
    instruct() {},
    operatorSaid: ({ text }: { text: string }) => void said.push(text),
  }
  const transfers = new Transfers({
    plan: plan(),
    leg: caller,
    clock,
    log: quietLog,
    tts,
    talk,
    vad: createEnergyVad(),
    stt: fakeStt(['Sales speaking.']),
    dialer: {
      dial(options) {
        dials.push(options)
        return dialed.promise
      },
    },
    emit: event => events.push(event),
  })
  const sink = transfers.sink({ pull: () => null, push() {}, dtmf() {} })
  return {
    caller,
    second,
    dials,
    events,
    transfers,
    sink,
    clock,
    tts,
    referred,
    said,
    settled: () => events.filter(event => event.type === 'transfer.settled').map(event => event.accepted),
    hears: (ms: number) =>
      Array.from({ length: ms / 20 }, () => sink.pull(0)?.some(sample => sample !== 0) ?? false).some(Boolean),
    async answers() {
      dialed.resolve({ ok: true, leg: second })
      await settle()
    },
    async carrierSays(result: TransferResult) {
      referred.shift()!.result.resolve(result)
      await settle()
    },
  }
}

describe('a caller whose target hung up', () => {
  it('ends when the carrier accepted REFER and stays silent', async () => {
    const w = world({ by: 'refer' })
    void w.transfers.give({ ...target, announce: 'A call.' }, '')
    await w.answers()
    w.clock.advance(30_000) // the announcement
    await settle()
    expect(w.referred).toMatchObject([{ consulted: true }])
    w.second.end(remote)
    await settle()
    w.clock.advance(1500)
    expect(w.caller.hangUps).toHaveLength(0) // the carrier may be about to say that it is done
    w.clock.advance(3500)
    expect(w.caller.hangUps).toHaveLength(1)
  })

  it('stops the announcement, and synthesizes none', async () => {
    const w = world()
    const voiced = Promise.withResolvers<AbortSignal>()
    w.tts.speak = async function* (_options, signal) {
      voiced.resolve(signal)
      await new Promise(resolve => signal.addEventListener('abort', resolve))
    }
    void w.transfers.give({ ...target, announce: 'A call.' }, '')
    await w.answers()
    const signal = await voiced.promise
    w.second.end(remote)
    await settle()
    expect(signal.aborted).toBe(true)
  })
})

describe('an operator', () => {
  it('who takes over during REFER keeps the caller when it fails', async () => {
    const w = world({ by: 'refer' })
    const result = w.transfers.give(target, '')
    expect(w.hears(2000)).toBe(true)
    w.transfers.cancel('A colleague has taken the call over.')
    expect(w.hears(2000)).toBe(false)
    await w.carrierSays({ ok: false, code: 'refused', reason: 'No.' })
    expect(w.dials).toHaveLength(0)
    expect(await result).toMatchObject({ ok: false, reason: 'A colleague has taken the call over.' })
  })

  it('who speaks during a joined call is heard by both', async () => {
    const w = world()
    void w.transfers.give(target, '')
    await w.answers()
    for (let i = 0; i < 4; i++) {
      w.sink.push(frame(2000))
      w.transfers.operatorSpeaks(new Int16Array(160).fill(500))
    }
    w.second.sink!.pull(0)
    expect(w.second.sink!.pull(0)![160]).toBeCloseTo(2500, -2)
  })
})

describe('the announcement', () => {
  it('reports failure when the call ended during the answer', async () => {
    const w = world({ mayStepAside: false })
    const result = w.transfers.give(target, '')
    await w.answers()
    expect(await result).toMatchObject({ ok: false })
    expect(w.settled()).toEqual([false])
    expect(w.second.hangUps).toHaveLength(1)
  })

  it('includes the words of the operator', async () => {
    const w = world()
    void w.transfers.give(target, '')
    await w.answers()
    for (let ms = 0; ms < 3000; ms += 20) {
      w.clock.advance(20)
      const level = ms < 1500 ? 6000 * (ms % 40 === 0 ? 1 : -1) : 0
      w.second.sink!.push({ ...frame(level, 320), atMs: w.clock.now() })
      w.sink.pull(0)
      await settle()
    }
    expect(w.said).toEqual(['Sales speaking.'])
  })

  it("speaks the agent's text literally", async () => {
    const w = world()
    void w.transfers.give({ ...target, announce: 'From: {{about}}.' }, "$& $' $` $$ {{about}}")
    await w.answers()
    expect(w.tts.spoken.at(-1)).toBe("From: $& $' $` $$ {{about}}.")
  })
})

it('is not transferred to its own source number', async () => {
  const w = world()
  expect(await w.transfers.give({ ...target, to: '+12025550100' }, '')).toMatchObject({ ok: false, code: 'invalid' })
  expect(w.dials).toHaveLength(0)
})

describe('the end of a call', () => {
  it.each(['while it rings', 'while they talk'])('%s waits for the other leg, with a limit', async when => {
    const w = world()
    void w.transfers.give(target, '')
    if (when === 'while they talk') await w.answers()
    let closed = false
    const closing = w.transfers.close().then(() => (closed = true))
    await settle()
    expect(closed).toBe(false)
    if (when === 'while it rings') await w.answers() // it crossed our CANCEL
    expect(w.second.hangUps).toHaveLength(1)
    w.second.hangUps[0]!.resolve()
    await settle()
    expect(closed).toBe(true)
    await closing
    const mute = world()
    void mute.transfers.give(target, '')
    const late = mute.transfers.close()
    await settle()
    mute.clock.advance(5000)
    await late
  })
})
