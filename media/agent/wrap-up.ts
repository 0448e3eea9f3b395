/** The record of a finished call: what the model says of it, checked against what was said in it. */

import type { ChatMessage, Llm, WrapUpRequest } from '../ports/llm.ts'
import { argumentProblem } from '../tools/http-tool.ts'

export interface CheckedWrapUp {
  summary: string
  extracted: Record<string, unknown> | null
  /** Why nothing was extracted, or null. */
  extractionProblem: string | null
  goalReached: boolean
  /** Words of the call that show it. */
  goalEvidence: string | null
  contactName: string | null
}

/** Asked once more when the answer does not fit; a claim that still cannot be shown is not made. */
export async function wrapUpCall(
  llm: Llm,
  request: Omit<WrapUpRequest, 'repair'>,
  signal: AbortSignal,
): Promise<CheckedWrapUp> {
  const first = await llm.wrapUp({ ...request, repair: null }, signal)
  const problems = problemsOf(request, first)
  const answer =
    problems.length === 0
      ? first
      : await llm.wrapUp({ ...request, repair: problems.join('; ') }, signal).catch(() => first)
  const extractionProblem = extractionProblemOf(request, answer.extracted)
  const shown = request.goal !== null && answer.goalReached && isShown(answer.goalEvidence, request.messages)
  return {
    summary: answer.summary,
    extracted: extractionProblem === null && request.extraction ? answer.extracted : null,
    extractionProblem,
    goalReached: shown,
    goalEvidence: shown ? answer.goalEvidence : null,
    contactName: isShown(answer.contactName, request.messages) ? answer.contactName : null,
  }
}

type Answer = Awaited<ReturnType<Llm['wrapUp']>>

function problemsOf(request: Omit<WrapUpRequest, 'repair'>, answer: Answer): string[] {
  const problems = []
  const problem = extractionProblemOf(request, answer.extracted)
  if (problem) problems.push(`extracted: ${problem}`)
  if (request.goal !== null && answer.goalReached && !isShown(answer.goalEvidence, request.messages))
    problems.push('goal_evidence: must be words of this conversation')
  return problems
}

function extractionProblemOf({ extraction }: Pick<WrapUpRequest, 'extraction'>, extracted: unknown): string | null {
  if (!extraction) return null
  if (typeof extracted !== 'object' || extracted === null || Array.isArray(extracted)) return 'nothing was extracted'
  return argumentProblem(extraction, extracted as Record<string, unknown>)
}

const MOSTLY = 0.7
const wordsOf = (text: string) => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []

/** Said by somebody, or told by a tool: as a whole, or most of its words in one place, since models mend what they quote. */
export function isShown(evidence: string | null, messages: readonly ChatMessage[]): boolean {
  const words = wordsOf(evidence ?? '')
  if (words.length === 0) return false
  const places = messages.map(message =>
    message.role === 'tool' ? `${message.name} ${JSON.stringify(message.arguments)} ${message.result}` : message.text,
  )
  return places.some(place => {
    const there = wordsOf(place)
    if (` ${there.join(' ')} `.includes(` ${words.join(' ')} `)) return true
    const known = new Set<string>(there)
    return words.length > 2 && words.filter(word => known.has(word)).length / words.length >= MOSTLY
  })
}
