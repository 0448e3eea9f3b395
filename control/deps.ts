/** All dependencies of control: those that every module uses, and those of individual modules. */
import type { ProjectDeps } from './agents/projects/service.ts'
import type { KnowledgeDeps } from './knowledge/parts.ts'
import type { MeteredDeps } from './metrics/meters.ts'
import type { LeadDeps } from './outreach/leads/parts.ts'
import type { CallDeps } from './telephony/call-setup/ended.ts'
import type { RealtimeDeps } from './telephony/realtime/livekit.ts'

export type { KnowledgeParts } from './knowledge/parts.ts'
export { type ControlConfig, defaultConfig, type Mail, wallDate } from './platform/deps.ts'

/** `callEnded` and `projectDeleted` are in `handlers.ts`. */
export interface Deps extends ProjectDeps, CallDeps, MeteredDeps, RealtimeDeps, KnowledgeDeps, LeadDeps {}
