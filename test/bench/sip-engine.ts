/**
 * The answering end of the signalling's benchmark, in a process of its own: the engine's edge with drachtio-srf in it. A
 * call gets what a call of the engine gets up to its 200: trunk by source and number, trace, 180, a pair of RTP ports, the
 * codec agreed, a leg. It has no plan from control, no sound and no conversation.
 */
import { randomUUID } from 'node:crypto'
import { systemClock } from '../../infra/clock.ts'
import { dtlsIdentity } from '../../media/rtp/dtls-crypto.ts'
import { createPacer } from '../../media/rtp/pacer.ts'
import { openRtp } from '../../media/rtp/session.ts'
import { selfSigned } from '../../sip/server/self-signed.ts'
import { type Edge, openEdge } from '../../sip/trunk/edge.ts'
import { trunkPlan } from '../sip/trunk/bench.ts'
import { quietLog } from '../support/world.ts'
import { serve } from './rpc.ts'

const PORTS = { min: 20_000, max: 29_999 }

const clock = systemClock
const identity = dtlsIdentity(selfSigned(Date.now()))
const pacer = createPacer(clock)

const handlers = {
  /** Resolves once the signalling server at that admin port has let it in. */
  connect: ({ port, secret, number }: { port: number; secret: string; number: string }) =>
    new Promise<void>(resolve => {
      const trunk = trunkPlan({ port: 9 }, { numbers: [number] })
      const edge: Edge = openEdge({
        ...{ host: '127.0.0.1', port, secret, clock, log: quietLog },
        directory: { all: () => [trunk], onChange: () => () => {} },
        media: {
          open: () => openRtp({ host: '127.0.0.1', ports: PORTS, clock, pacer, log: quietLog, identity }),
          advertise: null,
          fingerprint: identity.fingerprint,
        },
        onOffer: offer => {
          offer.admitted?.(randomUUID())
          void offer.answer()
        },
        onState: () => edge.isUp() && resolve(),
      })
    }),
}

export type SipEngineHandlers = typeof handlers

serve(handlers)
