/** Everything that control is built from: what all modules use, and what single modules need besides. */
import type { ProjectDeps } from './agents/projects/service.ts'
import type { KnowledgeDeps } from './knowledge/parts.ts'
import type { MeteredDeps } from './metrics/meters.ts'
import type { LeadDeps } from './outreach/leads/parts.ts'
import type { CallDeps } from './telephony/call-setup/ended.ts'
import type { RealtimeDeps } from './telephony/realtime/livekit.ts'

export type { KnowledgeParts } from './knowledge/parts.ts'
export { type ControlConfig, defaultConfig, type Mail, wallDate } from './platform/deps.ts'

/** `handlers.ts` has what `callEnded` and `projectDeleted` are. */
export interface Deps extends ProjectDeps, CallDeps, MeteredDeps, RealtimeDeps, KnowledgeDeps, LeadDeps {}
