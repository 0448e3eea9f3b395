/** Operations of a call that its agent may use: keys, transfers, the knowledge of the project. */
import { TAKEN_OVER } from '../agent/answers.ts'
import type { Abilities } from '../agent/own-tools.ts'
import { BROWSER, type CallPlan, type TransferTarget } from '../contract/plan.ts'
import type { KnowledgeHit } from '../ports/knowledge.ts'
import type { Leg, TransferResult } from '../ports/leg.ts'
import type { CallDeps } from './deps.ts'
import type { Monitors } from './monitors.ts'
import type { Transfers } from './transfers.ts'

export interface AgentAbilitiesOptions {
  plan: CallPlan
  leg: Leg
  bus: Pick<CallDeps['bus'], 'request'>
  /** Both exist once the conversation has begun; monitors only with rooms. */
  transfers(): Transfers
  monitors(): Monitors | null
}

/** Milliseconds for a knowledge search. It usually takes 20 to 60; a filler bridges a longer wait, see agent/toolbox.ts. */
const SEARCH_TIMEOUT_MS = 3000
const SEARCH_CHARS = 400

export function agentAbilities({ plan, leg, bus, transfers, monitors }: AgentAbilitiesOptions): Abilities {
  return {
    ...(leg.sendDtmf ? { sendDtmf: keys => leg.sendDtmf!(keys) } : {}),
    transfer: transferTo,
    searchKnowledge: search,
  }

  async function search(query: string): Promise<KnowledgeHit[]> {
    const { owner_id, project_id } = plan
    const request = { owner_id, project_id, query: query.slice(0, SEARCH_CHARS) }
    return (await bus.request('knowledge.search', request, SEARCH_TIMEOUT_MS)).found
  }

  async function transferTo(target: TransferTarget, about: string): Promise<TransferResult> {
    if (target.to === BROWSER) return transfers().waitFor(() => monitors()!.waitForOperator(target.name))
    // An operator may still speak for a while after a transfer was answered.
    if (monitors()?.taken) return { ok: false, code: 'busy', reason: TAKEN_OVER }
    return transfers().give(target, about)
  }
}
