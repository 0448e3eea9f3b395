/** What ends it at the SIP server: a BYE in this dialog, or a CANCEL of this INVITE that rings; `id` is the server's own. */
export type OpenCall = { readonly endedBy: 'BYE' | 'CANCEL'; readonly id: string }

/** They outlive the process, so that the next one of this engine finds them. */
export type OpenCalls = {
  opened(call: OpenCall): void
  ended(call: OpenCall): void
  all(): readonly OpenCall[]
}
