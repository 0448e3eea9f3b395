/** Names in LiveKit: the name of a room gives its purpose, an identity its participant. */
import { randomBase62 } from '../../platform/ids.ts'
import type { LiveKit } from './livekit.ts'

type Prefixed = Pick<LiveKit, 'prefix'>

/** Random, so that nobody can guess it. */
export const newTalkRoom = ({ prefix }: Prefixed) => `${prefix}talk-${randomBase62()}`
export const isTalkRoom = ({ prefix }: Prefixed, room: string) => room.startsWith(`${prefix}talk-`)

/** Room in which operators who monitor a call meet its engine. */
export const monitorRoom = ({ prefix }: Prefixed, callId: string) => `${prefix}monitor-${callId}`

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Null when it is not a monitor room. */
export function monitoredCall({ prefix }: Prefixed, room: string): string | null {
  const head = `${prefix}monitor-`
  const callId = room.startsWith(head) ? room.slice(head.length) : ''
  return UUID.test(callId) ? callId : null
}

export const newCaller = () => `caller-${randomBase62()}`
export const operatorOf = (monitorId: string) => `operator-${monitorId}`

const AGENT = 'agent-'
export const agentOf = (callId: string) => `${AGENT}${callId}`
export const isAgent = (identity: string) => identity.startsWith(AGENT)
