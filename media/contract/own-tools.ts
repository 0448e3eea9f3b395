/** Built-in tools of every agent. A customer's tool must not use these names. */
export const OWN_TOOLS = [
  'end_call',
  'do_not_call',
  'transfer_call',
  'send_digits',
  'search_knowledge',
  'take_message',
] as const
export type OwnTool = (typeof OWN_TOOLS)[number]

export const isOwnTool = (name: string): name is OwnTool => (OWN_TOOLS as readonly string[]).includes(name)
