/** Inbound calls that wait for control have a place already, and are waited for at the end. */
import { describe, expect, it } from 'vitest'
import { type DeskOptions, openDesk } from '../../../media/call/desk.ts'
import type { InboundOffer } from '../../../media/ports.ts'
import { fakeClock, settle } from '../../fakes/line.ts'
import { plan } from '../../fakes/plan.ts'
import { quietLog } from '../../support/world.ts'

async function desk() {
  const admit: ((answer: object) => void)[] = []
  const claimed: string[] = []
  const reader = { stop: async () => {} }
  const bus = {
    engine: 'e',
    boot: 'b',
    onPlace: () => reader,
    onCommand: () => reader,
    heartbeat: async () => {},
    emitEngine: async () => {},
    emitter: () => async () => {},
    renewLease: async () => {},
    dropLease: async () => {},
    claim: async (id: string) => claimed.push(id) > 0,
    ask: () => new Promise(resolve => admit.push(resolve)),
  }
  const options = {
    bus,
    clock: fakeClock(),
    log: quietLog,
    capacity: 1,
    hears: () => true,
    ready: () => true,
  }
  const rejected: string[] = []
  const offer = (): InboundOffer => ({
    called: '+1',
    caller: '+2',
    source: '127.0.0.1',
    trunkId: null,
    signal: new AbortController().signal,
    answer: async () => null,
    reject: refusal => rejected.push(refusal),
  })
  return { desk: await openDesk(options as unknown as DeskOptions), admit, claimed, rejected, offer }
}

describe('a desk', () => {
  it('takes no more calls at once than it has room for', async () => {
    const { desk: open, admit, rejected, offer } = await desk()
    open.offer(offer())
    open.offer(offer())
    await settle()
    expect(admit).toHaveLength(1)
    expect(rejected).toEqual(['too_many_calls'])
  })

  it('that closes claims no call any more', async () => {
    const { desk: open, admit, claimed, rejected, offer } = await desk()
    open.offer(offer())
    await settle()
    const closed = open.close(1000)
    admit[0]!({ admitted: true, plan: plan({ direction: 'in' }) })
    await settle()
    expect(claimed).toEqual([])
    expect(rejected).toEqual(['not_ready'])
    await closed
  })
})
