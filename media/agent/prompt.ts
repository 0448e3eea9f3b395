/** What the text model is told before the first word. Pure. */
import type { CallPlan } from '../contract/plan.ts'

const RULES = `You are speaking on the telephone. Answer in one to three short spoken sentences, without lists, markup or
emoji. Write numbers and abbreviations as they are said. Ask for one thing at a time. Use a tool only with what the caller
really said, and never invent its result. When the caller asks not to be called again, use do_not_call. When the
conversation is over, say goodbye and use end_call.`

export function systemPrompt(plan: CallPlan): string {
  const parts = [
    plan.prompt,
    plan.task ? `Your task in this call: ${plan.task}` : '',
    plan.goal ? `The goal of the call: ${plan.goal}` : '',
    plan.direction === 'out' ? 'You have called this person.' : 'This person has called you.',
    `Speak the language with the code "${plan.language}".`,
    RULES.replace(/\n/g, ' '),
  ]
  return parts.filter(part => part !== '').join('\n\n')
}
