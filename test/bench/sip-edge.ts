/** The engine's edge for the signalling and media benchmarks: drachtio-srf, a trunk by source and number, RTP. */
import { systemClock } from '../../infra/adapters/clock.ts'
import type { InboundOffer } from '../../media/ports/inbound.ts'
import { dtlsIdentity } from '../../media/rtp/dtls-crypto.ts'
import { createPacer } from '../../media/rtp/pacer.ts'
import { openRtp } from '../../media/rtp/session.ts'
import { selfSigned } from '../../sip/server/self-signed.ts'
import { type Edge, openEdge } from '../../sip/trunk/edge.ts'
import { trunkPlan } from '../sip/trunk/bench.ts'
import { quietLog } from '../support/world.ts'

const PORTS = { min: 20_000, max: 29_999 }

export interface EdgeOrder {
  /** Admin port of the signalling server. */
  port: number
  secret: string
  /** The called number. */
  number: string
}

/** Resolves once the signalling server has accepted it. */
export function connectEdge(
  { port, secret, number }: EdgeOrder,
  onOffer: (offer: InboundOffer) => void,
): Promise<void> {
  const clock = systemClock
  const identity = dtlsIdentity(selfSigned(Date.now()))
  const pacer = createPacer(clock)
  const trunk = trunkPlan({ port: 9 }, { numbers: [number] })
  return new Promise(resolve => {
    const edge: Edge = openEdge({
      host: '127.0.0.1',
      port,
      secret,
      clock,
      log: quietLog,
      onOffer,
      directory: { all: () => [trunk], onChange: () => () => {} },
      media: {
        open: () => openRtp({ host: '127.0.0.1', ports: PORTS, clock, pacer, log: quietLog, identity }),
        advertise: null,
        fingerprint: identity.fingerprint,
      },
      onState: () => edge.isUp() && resolve(),
    })
  })
}
