/**
 * What an agent must not be told to do. Rules over the text, so that the verdict is the same everywhere and needs no
 * network: an operator with a stricter policy has its own prompt review.
 */
import { Problem } from './http/problem.ts'

interface Rule {
  code: string
  message: string
  pattern: RegExp
}

// \b knows only ASCII letters, so Cyrillic stems stand without it.
const rules: Rule[] = [
  {
    code: 'credential_harvesting',
    message: 'Agents must not ask people for one-time codes, card security codes or passwords',
    pattern:
      /(?:ask|get|obtain|collect|request|find out|extract|demand)[^.!?\n]{0,60}\b(?:cvv|cvc|cv2|one[- ]time (?:code|password)|otp|sms[- ]code|code from (?:the )?sms|card pin|pin code|online[- ]bank(?:ing)? password)\b/i,
  },
  {
    code: 'credential_harvesting',
    message: 'Agents must not ask people for one-time codes, card security codes or passwords',
    pattern:
      /(?:спроси|узнай|выясни|получи|запроси|попроси|выман)[^.!?\n]{0,60}(?:cvv|cvc|код[а-я]* из (?:смс|sms)|смс-?код|пин-?код|одноразов[а-я]+ (?:код|парол)|парол[а-я]+ от банк)/i,
  },
  {
    code: 'impersonation',
    message: 'Agents must not pretend to be the police, a court or a security service',
    pattern:
      /(?:pretend|pose|impersonate|introduce yourself|say (?:that )?you are)[^.!?\n]{0,40}\b(?:police|officer of the law|fbi|prosecutor|court bailiff|bank security)/i,
  },
  {
    code: 'impersonation',
    message: 'Agents must not pretend to be the police, a court or a security service',
    pattern:
      /(?:представь(?:ся|тесь)|притвори(?:сь|тесь)|выдавай себя)[^.!?\n]{0,40}(?:полици|следовател|прокур|фсб|судебн[а-я]+ пристав|служб[а-я]+ безопасности)/i,
  },
]

/** Throws 422 with a pointer to each rejected text. */
export function moderate(texts: Record<string, string | null | undefined>): void {
  const errors = Object.entries(texts).flatMap(([pointer, text]) => {
    const rule = text ? rules.find(({ pattern }) => pattern.test(text)) : undefined
    return rule ? [{ pointer, code: rule.code, message: rule.message }] : []
  })
  if (errors.length > 0) throw new Problem('moderation_rejected', { errors })
}
