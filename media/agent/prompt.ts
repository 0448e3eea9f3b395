/** Builds the system prompt of a call. Pure. */

import type { CallPlan } from '../contract/plan.ts'
import { markUntrusted, untrustedRule } from '../shared/untrusted.ts'

const RULES = [
  'You are speaking on the telephone. Answer in one to three short spoken sentences, without lists, markup or emoji.',
  'Write numbers and abbreviations as they are said. Ask for one thing at a time.',
  'Use a tool only with what the caller really said, and never invent its result.',
  'When the caller asks not to be called again, use do_not_call.',
  'When the conversation is over, say goodbye and use end_call.',
  'Never say that you are a human being.',
].join(' ')

const WHO_CALLED: Record<CallPlan['direction'], string> = {
  out: 'You have called this person.',
  in: 'This person has called you.',
  web: 'This person talks with you from an app or a web page.',
}

/**
 * Appends operators' instructions to the prompt. Operators belong to the agent's side, so the text is not marked
 * untrusted.
 */
export function withInstructions(system: string, instructions: readonly string[]): string {
  if (instructions.length === 0) return system
  return `${system}\n\nYour supervisor listens and tells you, unheard by the caller:\n${instructions.join('\n')}`
}

/**
 * `startedMs`: epoch milliseconds of the answer. The text stays constant during a call, so that a vendor's prompt cache
 * hits.
 */
export function systemPrompt(plan: CallPlan, startedMs: number): string {
  return [
    plan.prompt,
    plan.task ? `Your task in this call: ${plan.task}` : '',
    plan.goal ? `The goal of the call: ${plan.goal}` : '',
    WHO_CALLED[plan.direction],
    aboutContact(plan),
    `The call began on ${spokenTime(startedMs, plan.timezone)} (${plan.timezone}).`,
    `Speak the language with the code "${plan.language}".`,
    `${RULES} ${untrustedRule(plan.boundary)}`,
  ]
    .filter(part => part.trim() !== '')
    .join('\n\n')
}

function aboutContact({ contact, timezone, boundary }: CallPlan): string {
  if (!contact) return ''
  const lines = contact.name ? [`Name: ${contact.name}`] : []
  for (const { at, direction, summary } of contact.history) {
    const who = direction === 'out' ? 'we called' : 'they called'
    lines.push(`${spokenTime(at, timezone)}, ${who}: ${summary}`)
  }
  if (lines.length === 0) return ''
  return `What is known about this person:\n${markUntrusted(boundary, 'contact', lines.join('\n'))}`
}

const spokenTime = (atMs: number, timeZone: string) =>
  new Intl.DateTimeFormat('en-GB', { timeZone, dateStyle: 'full', timeStyle: 'short' }).format(atMs)

/** Local date and time in the zone, stored as if it were UTC: `getUTCDate()` is the zone's current day. */
export function localDate(atMs: number, timeZone: string): Date {
  const parts = formatIn(timeZone).formatToParts(atMs)
  const part = (type: Intl.DateTimeFormatPartTypes) => Number(parts.find(entry => entry.type === type)!.value)
  return new Date(Date.UTC(part('year'), part('month') - 1, part('day'), part('hour'), part('minute'), part('second')))
}

/** Caches formatters: constructing one takes twenty times as long as using it, and every request contains the date. */
function formatIn(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone)
  if (known) return known
  const numeric = 'numeric'
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    year: numeric,
    month: numeric,
    day: numeric,
    hour: numeric,
    minute: numeric,
    second: numeric,
  })
  formats.set(timeZone, format)
  return format
}
const formats = new Map<string, Intl.DateTimeFormat>()
