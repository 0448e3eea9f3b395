/** The record of a finished call: the model's summary, verified against the conversation. */

import type { ChatMessage, Llm, WrapUpRequest } from '../ports/llm.ts'
import { argumentProblem } from '../tools/http-tool.ts'

export interface CheckedWrapUp {
  summary: string
  extracted: Record<string, unknown> | null
  /** The reason why nothing was extracted, or null. */
  extractionProblem: string | null
  goalReached: boolean
  /** Words of the call that prove it. */
  goalEvidence: string | null
  contactName: string | null
}

/** Asks the model once more when the answer fails validation; drops claims that still cannot be verified. */
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

/**
 * True when somebody said it or a tool returned it: verbatim, or most of its words in one message, since models edit
 * quotes.
 */
export function isShown(evidence: string | null, messages: readonly ChatMessage[]): boolean {
  const words = wordsOf(evidence ?? '')
  if (words.length === 0) return false
  const texts = messages.map(message =>
    message.role === 'tool' ? `${message.name} ${JSON.stringify(message.arguments)} ${message.result}` : message.text,
  )
  return texts.some(text => {
    const there = wordsOf(text)
    if (` ${there.join(' ')} `.includes(` ${words.join(' ')} `)) return true
    const known = new Set<string>(there)
    return words.length > 2 && words.filter(word => known.has(word)).length / words.length >= MOSTLY
  })
}
