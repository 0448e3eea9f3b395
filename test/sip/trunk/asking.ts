/** A caller who talks to an agent on a real server and asks for a transfer. */

import { Call } from '../../../media/call/call.ts'
import type { CallEventBody, CallRecord } from '../../../media/contract/messages.ts'
import type { TransferTarget, TrunkPlan } from '../../../media/contract/plan.ts'
import type { LlmEvent } from '../../../media/ports/llm.ts'
import { callDeps, fakeBus } from '../../fakes/call.ts'
import { plan } from '../../fakes/plan.ts'
import { fakeLlm, fakeTts } from '../../fakes/speech.ts'
import { Caller, type Peer } from '../peer.ts'
import { audioPort, type Bench, clock, trunkPlan } from './bench.ts'
import type { FarSound } from './tone-endpoint.ts'

export const CALLER_HZ = 700
const SALES: TransferTarget = { name: 'sales', to: '+12025550199', description: 'Sells', announce: null }

export interface Asking {
  bench: Bench
  /** The caller's, and the trunk's where no port is given. */
  peer: Peer
  sound: FarSound
  trunk?: Partial<TrunkPlan>
  target?: Partial<TransferTarget>
}

/** A caller who talks to the agent and requests a transfer by a DTMF digit. */
export async function asked({ bench, peer, sound, trunk = {}, target = {} }: Asking) {
  bench.setTrunks(trunkPlan(peer, trunk))
  const caller = new Caller(peer, `sip:+12025550100@127.0.0.1:${bench.rig.udpPort}`)
  caller.invite(sound.sdp())
  const events: CallEventBody[] = []
  let wake = () => {}
  const until = async <T extends CallEventBody['type']>(type: T): Promise<Extract<CallEventBody, { type: T }>> => {
    for (;;) {
      const found = events.find(event => event.type === type)
      if (found) return found as Extract<CallEventBody, { type: T }>
      await new Promise<void>(resolve => (wake = resolve))
    }
  }
  const replies = (messages: readonly { role: string; result?: string }[]): LlmEvent[] => {
    const last = messages.at(-1)!
    if (last.role === 'tool') return [{ type: 'text', delta: `They say: ${last.result}` }]
    const about = target.announce?.includes('{{about}}') ? { about: 'Anna asks for the price' } : {}
    return [{ type: 'tool', id: 'a', name: 'transfer_call', arguments: { to: 'sales', ...about } }]
  }
  const tts = fakeTts()
  const emit = (event: CallEventBody) => {
    events.push(event)
    wake()
  }
  const deps = callDeps({
    bus: fakeBus(emit, { request: async () => ({ paid_ms: 600_000, granted: true }) as never }),
    dialer: bench.edge.dialer,
    clock,
    ttsFor: () => tts,
    llmFor: () => fakeLlm(({ messages }) => replies(messages)),
  })
  const offer = await bench.offer()
  const whole = plan({
    direction: 'in',
    trunk_id: null,
    from: offer.caller,
    to: offer.called,
    greeting: 'Hi.',
    transfers: [{ ...SALES, ...target }],
    ring_timeout_ms: 20_000,
  })
  const call = Call.answer(whole, offer, deps)
  const ok = await caller.answered()
  caller.ack()
  await until('turn.finished') // the greeting
  for (const key of '1#') {
    caller.request('INFO', ['Content-Type: application/dtmf-relay'], `Signal=${key}\r\n`)
    await peer.response(200, 'INFO')
  }
  const port = audioPort(ok.body)
  sound.say(port, CALLER_HZ)
  const record = async (): Promise<CallRecord> => (await until('call.ended')).record
  return {
    call,
    caller,
    events,
    until,
    port,
    record,
    tts,
    told: () => events.filter(e => e.type.startsWith('transfer')),
  }
}
