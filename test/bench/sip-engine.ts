/**
 * The answering end of the signalling's benchmark, in a process of its own: the engine's edge with drachtio-srf in it. A
 * call gets what a call of the engine gets up to its 200: trunk by source and number, trace, 180, a pair of RTP ports, the
 * codec agreed, a leg. It has no plan from control, no sound and no conversation.
 */
import { randomUUID } from 'node:crypto'
import { serve } from './rpc.ts'
import { connectEdge, type EdgeOrder } from './sip-edge.ts'

const handlers = {
  connect: (order: EdgeOrder) =>
    connectEdge(order, offer => {
      offer.admitted?.(randomUUID())
      void offer.answer()
    }),
}

export type SipEngineHandlers = typeof handlers

serve(handlers)
