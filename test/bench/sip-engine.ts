/**
 * The answering side of the signalling benchmark, in a separate process: the engine's edge with drachtio-srf. A call
 * gets the same treatment as in an engine up to its 200: trunk by source and number, trace, 180, a pair of RTP ports,
 * codec negotiation, a leg. It has no plan from control, no audio and no conversation.
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
