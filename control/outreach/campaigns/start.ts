/** Checks all conditions of a start and reports all failures together, so that a customer can fix them in one go. */

import { rejectedTexts } from '../../agents/moderation/moderation.ts'
import type { Deps } from '../../platform/deps.ts'
import type { Caller } from '../../platform/http/caller.ts'
import { notFound, Problem } from '../../platform/http/problem.ts'
import { moneyGates, standingOf, stopGate } from '../../telephony/gates/service.ts'
import { pickLine } from '../../telephony/numbers/lines.ts'
import type { Action } from './lifecycle.ts'
import { type CountedCampaign, type StartFacts, selectLines } from './sql.ts'
import { type ConsentEvidence, requeuedStatuses } from './types.ts'

/** The statement behind `consent: true`, stored with every start. Earlier confirmations keep their own text. */
export const CONSENT_TEXT =
  'I confirm that every subscriber on the contact list of this campaign has consented to these calls.'

export const consentOf = ({ keyId, sessionId }: Caller, at: Date): ConsentEvidence => ({
  confirmed_at: at.toISOString(),
  text: CONSENT_TEXT,
  key_id: keyId,
  session_id: sessionId,
})

function* contactGate(campaign: CountedCampaign, action: Action): Generator<Problem> {
  if (action === 'start' && campaign.total === 0) yield new Problem('no_contacts')
  if (action === 'requeue' && requeuedStatuses.every(status => campaign[status] === 0)) {
    yield new Problem('no_contacts', { detail: 'No contact has ended with no_answer, busy or failed.' })
  }
}

function* lineGate({ lines, caller_id }: StartFacts): Generator<Problem> {
  try {
    pickLine(lines, caller_id, '')
  } catch (problem) {
    yield problem as Problem
  }
}

/** Throws the first problem by its code, with all of them in `errors`. */
export async function passStartGates(
  deps: Deps,
  ownerId: string,
  campaign: CountedCampaign,
  action: Action,
): Promise<void> {
  const [standing, facts, texts] = await Promise.all([
    standingOf(deps, ownerId, 'out'),
    selectLines(deps.sql, ownerId, campaign.project_id),
    rejectedTexts(deps, { '/task': campaign.task }),
  ])
  if (facts.project_id === null) throw notFound()
  const problems = [
    ...contactGate(campaign, action),
    ...stopGate(standing),
    ...moneyGates(standing),
    ...lineGate(facts),
  ]
  const errors = problems.map(({ code, message }) => ({ pointer: '', code: code as string, message }))
  for (const { pointer, message } of texts) errors.push({ pointer, code: 'moderation_rejected', message })
  if (errors.length === 0) return
  const [first] = problems
  throw new Problem(first?.code ?? 'moderation_rejected', { detail: first?.message ?? texts[0]!.message, errors })
}
