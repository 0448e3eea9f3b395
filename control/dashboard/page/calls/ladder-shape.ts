/** Lays out SIP messages as arrows between endpoints. Pure. */
import type { Schemas } from '../api/types.ts'

export type SipMessage = Schemas['SipMessage']

export interface Rung {
  index: number
  message: SipMessage
  /** Column of the remote endpoint; Parley is column 0. */
  column: number
  after_ms: number
  label: string
  /** Codecs and encryption from the SDP, or an empty string. */
  sound: string
  shows_cause: boolean
}

export interface Ladder {
  /** `host:port` of the remote endpoints, in order of appearance. */
  ends: string[]
  rungs: Rung[]
}

export function ladderOf({ messages, diagnosis }: Pick<Schemas['SipTrace'], 'messages' | 'diagnosis'>): Ladder {
  const evidence = new Set(diagnosis?.evidence)
  const ends: string[] = []
  const began = Date.parse(messages[0]?.at ?? '')
  let last = 1
  const rungs = messages.map((message, index) => {
    if (!message.generated) last = columnOf(ends, message.sent ? message.target : message.source)
    return {
      index,
      message,
      column: last,
      after_ms: Date.parse(message.at) - began,
      label: labelOf(message),
      sound: soundIn(message.text),
      shows_cause: evidence.has(index),
    }
  })
  return { ends, rungs }
}

function columnOf(ends: string[], end: string): number {
  if (!ends.includes(end)) ends.push(end)
  return ends.indexOf(end) + 1
}

const headerIn = (text: string, name: string) =>
  new RegExp(`^${name}[ \\t]*:[ \\t]*([^\\r\\n]*)`, 'im').exec(text)?.[1]?.trim()

/** Returns a short label such as `INVITE +4930123456` or `401 Unauthorized (REGISTER)`. */
function labelOf({ start_line, text }: SipMessage): string {
  const answer = /^SIP\/2\.0 (.*)$/i.exec(start_line)?.[1]
  if (answer !== undefined) return `${answer} (${headerIn(text, 'CSeq')?.split(/\s+/)[1] ?? '?'})`
  const [method = '', uri = ''] = start_line.split(' ')
  const user = method === 'INVITE' ? (/^(?:sips?|tel):([^@;]+)/i.exec(uri)?.[1] ?? '') : ''
  return `${method} ${user}`.trimEnd()
}

function soundIn(text: string): string {
  const media = /^m=audio \d+ (\S+)/m.exec(text)
  if (!media) return ''
  const names = [...text.matchAll(/^a=rtpmap:\d+ ([^/\s]+)/gm)].map(match => match[1]!)
  const direction = /^a=(sendonly|recvonly|inactive)\s*$/m.exec(text)?.[1] ?? []
  const secure = media[1]!.includes('SAVP') ? 'SRTP' : []
  return [secure, ...names.filter(name => name.toLowerCase() !== 'telephone-event'), direction].flat().join(' ')
}
