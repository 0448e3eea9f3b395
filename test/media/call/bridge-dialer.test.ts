/** The second leg of a call: requested before it is dialled, and released once. */
import { describe, expect, it } from 'vitest'
import { RequestTimeout } from '../../../media/bus/engine-bus.ts'
import { createBridgeDialer } from '../../../media/call/bridge-dialer.ts'
import type { CallEventBody } from '../../../media/contract/messages.ts'
import type { DialOptions, DialResult } from '../../../media/ports/dialer.ts'
import type { Leg, LegEnd } from '../../../media/ports/leg.ts'
import { settle } from '../../fakes/line.ts'
import { plan } from '../../fakes/plan.ts'
import { recordingLog } from '../../support/world.ts'

type Answer = boolean | 'silence' | Error
const failed: DialResult = { ok: false, failure: { status: 'busy', reason: 'busy', sipCode: 486 } }

function world(answers: Answer[], { limited = true } = {}) {
  const whole = plan()
  const [asked, dials, events] = [[] as object[], [] as DialOptions[], [] as CallEventBody[]]
  let result: DialResult = failed
  const dialer = createBridgeDialer({
    plan: whole,
    line: { trunkId: whole.trunk_id!, number: '+12025550100', transfer: 'bridge', limited },
    bus: {
      request: async (name, request) => {
        asked.push({ name, ...request })
        const answer = answers.shift() ?? true
        if (answer === 'silence') throw new RequestTimeout(name)
        if (answer instanceof Error) throw answer
        return { granted: answer } as never
      },
    },
    dialer: {
      async dial(options) {
        dials.push(options)
        return result
      },
    },
    log: recordingLog(),
    emit: event => void events.push(event),
  })
  const signal = new AbortController().signal
  const dial = () => dialer.dial({ plan: { ...whole, to: '+4930123456' }, signal, onRinging() {} })
  return { whole, asked, dials, events, dial, answersWith: (next: DialResult) => (result = next) }
}

function answered() {
  let end: (end: LegEnd) => void = () => {}
  const ended = new Promise<LegEnd>(resolve => (end = resolve))
  const leg = { ended } as Leg
  return { result: { ok: true, leg } as const, hangUp: () => end({ by: 'remote', reason: 'caller_hangup' }) }
}

const closed = (attempt: number) => ({ type: 'bridge.closed', attempt })

describe('the second leg of a call', () => {
  it('is requested with its attempt number, and waits briefly', async () => {
    const w = world([true, true])
    await w.dial()
    await w.dial()
    const { call_id, owner_id, trunk_id } = w.whole
    expect(w.asked).toEqual([1, 2].map(attempt => ({ name: 'call.bridge', call_id, owner_id, trunk_id, attempt })))
    expect(w.dials.map(({ maxWaitMs }) => maxWaitMs)).toEqual([3000, 3000])
    expect(w.events).toEqual([closed(1), closed(2)])
  })

  it('is not dialled without a free line; nothing is released then', async () => {
    const w = world([false])
    expect(await w.dial()).toMatchObject({ ok: false, failure: { reason: 'no_capacity' } })
    expect([w.dials, w.events]).toEqual([[], []])
  })

  it('is held until the hangup, and released once', async () => {
    const w = world([true])
    const theirs = answered()
    w.answersWith(theirs.result)
    expect(await w.dial()).toBe(theirs.result)
    await settle()
    expect(w.events).toEqual([])
    theirs.hangUp()
    theirs.hangUp()
    await settle()
    expect(w.events).toEqual([closed(1)])
  })

  it.each(['silence', new Error('Redis said no')] as const)(
    'without an answer (%s) dials only on a trunk without a limit',
    async answer => {
      const free = world([answer], { limited: false })
      expect(await free.dial()).toBe(failed)
      expect([free.dials.length, free.events]).toEqual([1, [closed(1)]])
      const limited = world([answer])
      expect(await limited.dial()).toMatchObject({ ok: false, failure: { reason: 'no_capacity' } })
      expect([limited.dials.length, limited.events]).toEqual([0, [closed(1)]])
    },
  )
})
