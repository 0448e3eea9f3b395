/**
 * The request that ends a call at the SIP server: a BYE in its dialog, or a CANCEL of a ringing INVITE. `id` is the
 * server's own.
 */
export type OpenCall = { readonly endedBy: 'BYE' | 'CANCEL'; readonly id: string }

/** Stores open calls beyond the life of the process, for its successor to end. */
export type OpenCalls = {
  opened(call: OpenCall): void
  ended(call: OpenCall): void
  all(): readonly OpenCall[]
}
