/** A caller who holds the call and never resumes: only limits and money end it. */
import { expect, it } from 'vitest'
import { Call } from '../../../media/call/call.ts'
import type { CallEventBody } from '../../../media/contract/messages.ts'
import { callDeps, fakeBus, fakeLeg, fakeOffer } from '../../fakes/call.ts'
import { fakeClock, settle } from '../../fakes/line.ts'
import { plan } from '../../fakes/plan.ts'

const MINUTE = 60_000

async function held(paidMinutes: number) {
  const clock = fakeClock()
  const events: CallEventBody[] = []
  let paid = 1
  const bus = fakeBus(event => events.push(event), {
    request: async () => {
      paid = Math.min(paid + 1, paidMinutes)
      return { paid_ms: paid * MINUTE } as never
    },
  })
  const offer = fakeOffer({ answer: async () => fakeLeg() })
  Call.answer(plan({ direction: 'in', paid_ms: MINUTE, max_call_ms: 30 * MINUTE }), offer, callDeps({ bus, clock }))
  await settle()
  return {
    async after(minutes: number) {
      for (let ms = 0; ms < minutes * MINUTE; ms += 1000) {
        clock.advance(1000)
        await settle()
      }
      const last = events.find(event => event.type === 'call.ended')
      return last ? { reason: last.record.ended_reason, talkedMs: last.record.talked_ms } : null
    },
  }
}

it('continues while paid, until the maximum duration', async () => {
  const call = await held(1000)
  expect(await call.after(29.5)).toBeNull()
  const over = await call.after(1)
  expect(over?.reason).toBe('max_duration')
  expect(over!.talkedMs).toBeLessThanOrEqual(30 * MINUTE + 11_000)
})

it('ends when the balance ends', async () => {
  const call = await held(5)
  expect(await call.after(4.5)).toBeNull()
  const over = await call.after(1)
  expect(over?.reason).toBe('balance_exhausted')
  expect(over!.talkedMs).toBeLessThanOrEqual(5 * MINUTE + 6000)
})
