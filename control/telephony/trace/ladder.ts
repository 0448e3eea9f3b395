/** Prints SIP messages as a ladder diagram in text, 100 columns wide, followed by the messages. Pure. */
import type { Diagnosis, TracedMessage } from '../../../media/contract/sip-trace.ts'

export interface Laddered {
  title: string
  messages: readonly TracedMessage[]
  omitted: number
  diagnosis: Diagnosis | null
}

const WIDTH = 100
/** Columns between the two lines of the endpoints. */
const LANE = 60
const INDENT = ' '.repeat(34)

export function ladderOf({ title, messages, omitted, diagnosis }: Laddered): string {
  const marked = new Set(diagnosis?.evidence)
  const lines = messages.flatMap((seen, index) => rung(messages, seen, index, marked.has(index)))
  const texts = messages.flatMap(bodyOf)
  const note = omitted > 0 ? [`${omitted} messages between the first and the last ones were not stored.`, ''] : []
  return [printable(title), '', ...wordsOf(diagnosis), ...head(messages), ...lines, '', ...note, ...texts].join('\n')
}

function wordsOf(diagnosis: Diagnosis | null): string[] {
  if (!diagnosis) return []
  const { code, message, advice, evidence } = diagnosis
  return [
    ...wrap(`Cause: ${message} (${code})`),
    ...(advice ? wrap(`Fix: ${advice}`) : []),
    ...(evidence.length > 0 ? [`Seen in: ${evidence.map(index => `#${index}`).join(', ')} (marked *)`] : []),
    '',
  ]
}

function wrap(text: string): string[] {
  const lines: string[] = []
  for (const word of printable(text).split(' ')) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + word.length < WIDTH) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(lines.length === 0 ? word : `  ${word}`)
  }
  return lines
}

function head(messages: readonly TracedMessage[]): string[] {
  const first = messages[0]
  if (!first) return ['No messages were sent or received.']
  const day = new Date(first.at).toISOString().slice(0, 10)
  return [`  #   ${day} UTC      after   us${' '.repeat(LANE - 5)}them`]
}

const oursOf = ({ sent, source, target }: TracedMessage): string => (sent ? source : target)
const theirsOf = ({ sent, source, target }: TracedMessage): string => (sent ? target : source)

function rung(all: readonly TracedMessage[], seen: TracedMessage, index: number, marked: boolean): string[] {
  const before = all[index - 1]
  const theirs = theirsOf(seen)
  // Prints the endpoints where they change; generated messages have none.
  const real = all.slice(0, index).findLast(one => !one.generated)
  const named = !seen.generated && (!real || theirsOf(real) !== theirs || oursOf(real) !== oursOf(seen))
  const clock = new Date(seen.at).toISOString().slice(11, 23)
  const after = before ? afterWords(seen.at - before.at) : ''
  const lead = `${marked ? '*' : ' '}${String(index).padStart(3)}  ${clock.padEnd(15)}${after.padStart(11)}  `
  return [...(named ? [ends(seen)] : []), `${lead}|${arrow(seen)}|`]
}

function ends(seen: TracedMessage): string {
  const ours = oursOf(seen)
  const theirs = `${theirsOf(seen)} (${seen.transport})`
  return `${INDENT}${printable(ours)}${printable(theirs).padStart(Math.max(theirs.length + 1, LANE + 2 - ours.length))}`
}

function afterWords(ms: number): string {
  if (ms < 1000) return `+${ms} ms`
  return ms < 120_000 ? `+${(ms / 1000).toFixed(1)} s` : `+${Math.round(ms / 60_000)} min`
}

function arrow(seen: TracedMessage): string {
  const label = ` ${clip(printable(labelOf(seen)), LANE - 8)} `
  if (seen.generated) return ` x${label}`.padEnd(LANE)
  const left = Math.floor((LANE - 1 - label.length) / 2)
  const right = LANE - 1 - label.length - left
  return seen.sent
    ? `${'-'.repeat(left)}${label}${'-'.repeat(right)}>`
    : `<${'-'.repeat(left)}${label}${'-'.repeat(right)}`
}

const clip = (text: string, most: number): string => (text.length > most ? `${text.slice(0, most - 1)}…` : text)

const headerIn = (text: string, name: string): string | undefined =>
  new RegExp(`^${name}[ \\t]*:[ \\t]*([^\\r\\n]*)`, 'im').exec(text)?.[1]

/** `INVITE +4930123456, authenticated  [PCMA PCMU]` or `401 Unauthorized (REGISTER)`. */
function labelOf({ text, generated }: TracedMessage): string {
  const first = startLine(text)
  const answer = /^SIP\/2\.0 (.*)$/i.exec(first)?.[1]
  const sound = soundIn(text)
  if (generated) return `no response: ${answer ?? first} ${warningIn(text)}`.trim()
  if (answer !== undefined) return `${answer} (${headerIn(text, 'CSeq')?.split(/\s+/)[1] ?? '?'})${sound}`
  const [method = '', uri = ''] = first.split(' ')
  const user = method === 'INVITE' ? (/^(?:sips?|tel):([^@;]+)@?/i.exec(uri)?.[1] ?? '') : ''
  const authenticated = /^(?:Proxy-)?Authorization[ \t]*:/im.test(text) ? ', authenticated' : ''
  return `${method} ${user}`.trimEnd() + authenticated + sound
}

const warningIn = (text: string): string => /"([^"]*)"/.exec(headerIn(text, 'Warning') ?? '')?.[1] ?? ''

/** Codecs, encryption and direction of an SDP body; empty without one. */
function soundIn(text: string): string {
  const media = /^m=audio (\d+) (\S+) ?([^\r\n]*)/m.exec(text)
  if (!media) return ''
  const named = [...text.matchAll(/^a=rtpmap:\d+ ([^/\s]+)/gm)].map(match => match[1]!)
  const codecs = named.filter(name => name.toLowerCase() !== 'telephone-event')
  const secure = media[2]!.includes('SAVP') ? ['SRTP'] : []
  const direction = /^a=(sendonly|recvonly|inactive)\s*$/m.exec(text)?.[1]
  const message = [...secure, ...(codecs.length > 0 ? codecs : [media[3]!]), ...(direction ? [direction] : [])]
  return `  [${message.join(' ')}]`
}

const startLine = (text: string): string => text.split(/\r?\n/, 1)[0] ?? ''

export const presentMessage = (seen: TracedMessage) => ({
  ...seen,
  at: new Date(seen.at).toISOString(),
  start_line: startLine(seen.text),
})

function bodyOf(seen: TracedMessage, index: number): string[] {
  const way = `${seen.source} -> ${seen.target} ${seen.transport}${seen.generated ? ', generated by our SIP server' : ''}`
  const lines = seen.text.trimEnd().split(/\r?\n/).map(printable)
  return [`--- #${index}  ${new Date(seen.at).toISOString()}  ${printable(way)}`, ...lines, '']
}

/** Control characters except the tab, line ends, and characters that change the writing direction (Unicode TR 9). */
const UNPRINTABLE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is replaced
  /[\u0000-\u0008\u000a-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g

/** A remote end must not control the reader's terminal. */
function printable(text: string): string {
  return text.replace(UNPRINTABLE, '?')
}
