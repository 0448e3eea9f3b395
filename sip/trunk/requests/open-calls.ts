/**
 * The request that ends a call at the SIP server: a BYE in its dialog, or a CANCEL of a ringing INVITE. `id` is the
 * server's own.
 */
export interface OpenCall {
  endedBy: 'BYE' | 'CANCEL'
  id: string
}

/** Stores open calls beyond the life of the process, for its successor to end. */
export interface OpenCalls {
  opened(call: OpenCall): void
  ended(call: OpenCall): void
  all(): readonly OpenCall[]
}
