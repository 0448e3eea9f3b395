/**
 * SIP traces per call, from the frames of the signalling server, and so with the messages on the wire for our server
 * and drachtio's alike. Neither reports messages that servers send on their own: 100 Trying, the ACK of a failure, the
 * answer to a CANCEL, and retransmissions.
 */
import type { TracedMessage } from '../../../media/contract/sip-trace.ts'
import type { Clock } from '../../../media/shared/clock.ts'
import { formatHostPort } from '../../text/grammar.ts'
import { parseUri } from '../../text/uri.ts'
import { type Framed, readFrame } from './frame.ts'
import { maskSecrets } from './mask.ts'

type Seen = { -readonly [K in keyof TracedMessage]: TracedMessage[K] } & {
  readonly txnId: string
  /** The destination of our request is known only from its answer. */
  guessed: boolean
}
type Ends = { local: string | null; remote: string | null; transport: TracedMessage['transport'] }
type Dialog = {
  readonly seen: Seen[]
  bytes: number
  omitted: number
  touchedMs: number
  trunkId: string | null
  ends: Ends
}

export type TracedMessages = { readonly messages: TracedMessage[]; readonly omitted: number }

/**
 * Most messages per dialog: enough for a call with its re-INVITEs. The middle is dropped first, since causes are at the
 * ends.
 */
const MOST_MESSAGES = 60
const MOST_BYTES = 49_152
const FIRST_KEPT = 20
const LONGEST_MESSAGE = 8192
/**
 * Dialogs without a call (pings, registrations, refused calls) are dropped after this idle time in ms, or when there
 * are too many.
 */
const IDLE_MS = 600_000
const MOST_LOOSE = 500
const MOST_CALLS = 5000
/** Most dialogs per call, which may try many hosts; the middle is dropped first here too. */
const MOST_DIALOGS = 12
const DIALOGS_KEPT = 2

const NOWHERE = '?'

export class Traces {
  private readonly clock: Clock
  /** Dialogs by Call-ID, least recently used first. */
  private readonly loose = new Map<string, Dialog>()
  private readonly held = new Map<string, Dialog>()
  private readonly byCall = new Map<string, Set<string>>()

  constructor(clock: Clock) {
    this.clock = clock
  }

  /** Records a frame from the server, without its length prefix. */
  frame(text: string): void {
    const framed = readFrame(text)
    if (framed === null) return
    const dialog = this.touch(framed.callId)
    learn(dialog.ends, framed)
    this.add(dialog, seenOf(framed, dialog.ends, this.clock.wall()))
    if (framed.way === 'came' && isResponse(framed.text)) correct(dialog, framed)
  }

  private touch(sipCallId: string): Dialog {
    const touchedMs = this.clock.now()
    const held = this.held.get(sipCallId)
    if (held !== undefined) return held
    const ends: Ends = { local: null, remote: null, transport: 'udp' }
    const dialog = this.loose.get(sipCallId) ?? { seen: [], bytes: 0, omitted: 0, touchedMs, trunkId: null, ends }
    dialog.touchedMs = touchedMs
    this.loose.delete(sipCallId)
    this.loose.set(sipCallId, dialog)
    for (const [id, { touchedMs: atMs }] of this.loose) {
      if (this.loose.size <= MOST_LOOSE && touchedMs - atMs < IDLE_MS) break
      this.loose.delete(id)
    }
    return dialog
  }

  private add(dialog: Dialog, seen: Seen): void {
    dialog.seen.push(seen)
    dialog.bytes += seen.text.length
    while (dialog.seen.length > FIRST_KEPT && (dialog.seen.length > MOST_MESSAGES || dialog.bytes > MOST_BYTES)) {
      const [gone] = dialog.seen.splice(FIRST_KEPT, 1)
      dialog.bytes -= gone?.text.length ?? 0
      dialog.omitted += 1
    }
  }

  /** Assigns the dialog to a call; a call may have several (another host, another leg). */
  bind(sipCallId: string | undefined, callId: string, trunkId: string | null): void {
    const dialog = this.loose.get(sipCallId ?? '')
    if (sipCallId === undefined || dialog === undefined) return
    dialog.trunkId = trunkId
    this.loose.delete(sipCallId)
    this.held.set(sipCallId, dialog)
    const ids = (this.byCall.get(callId) ?? new Set()).add(sipCallId)
    this.byCall.set(callId, ids)
    if (ids.size > MOST_DIALOGS) this.drop(ids, [...ids][DIALOGS_KEPT]!)
    const [oldest] = this.byCall.keys()
    if (this.byCall.size > MOST_CALLS && oldest !== undefined) this.take(oldest)
  }

  private drop(ids: Set<string>, sipCallId: string): void {
    const gone = this.held.get(sipCallId)
    const first = this.held.get([...ids][0]!)
    if (gone !== undefined && first !== undefined) first.omitted += gone.seen.length + gone.omitted
    ids.delete(sipCallId)
    this.held.delete(sipCallId)
  }

  /** Removes and returns all messages of a call, in order. Returns null when nothing was recorded. */
  take(callId: string): (TracedMessages & { readonly trunkId: string | null }) | null {
    const ids = this.byCall.get(callId)
    if (ids === undefined) return null
    this.byCall.delete(callId)
    const dialogs = [...ids].flatMap(id => this.held.get(id) ?? [])
    for (const id of ids) this.held.delete(id)
    return { ...join(dialogs), trunkId: dialogs[0]?.trunkId ?? null }
  }

  /** Returns the messages of these Call-IDs and keeps them. */
  peek(...sipCallIds: readonly string[]): TracedMessages {
    return join(sipCallIds.flatMap(id => this.loose.get(id) ?? this.held.get(id) ?? []))
  }
}

function join(dialogs: readonly Dialog[]): TracedMessages {
  const all = dialogs.flatMap(({ seen }) => seen).sort((one, other) => one.at - other.at)
  const messages = all.map(({ txnId: _txn, guessed: _guessed, ...seen }) => seen)
  return { messages, omitted: dialogs.reduce((sum, { omitted }) => sum + omitted, 0) }
}

const isResponse = (text: string): boolean => /^SIP\/2\.0 /i.test(text)

/** Updates the known addresses of the dialog. */
function learn(ends: Ends, framed: Framed): void {
  const protocol = framed.protocol.toLowerCase()
  if (protocol === 'udp' || protocol === 'tcp' || protocol === 'tls') ends.transport = protocol
  else if (protocol === 'ws' || protocol === 'wss') ends.transport = protocol === 'ws' ? 'tcp' : 'tls'
  if (framed.local !== null) ends.local = framed.local
  if (framed.at === null) return
  if (framed.way === 'came') ends.remote = framed.at
  else if (!isResponse(framed.text)) ends.local = framed.at
}

function seenOf(framed: Framed, ends: Ends, at: number): Seen {
  const { way, txnId } = framed
  const sent = way === 'sent'
  const text = maskSecrets(framed.text.replaceAll('\0', ''))
  const guessed = sent && ends.remote === null
  const remote = ends.remote ?? (sent ? destinationOf(text) : NOWHERE)
  const local = ends.local ?? NOWHERE
  const ways = sent ? { source: local, target: remote } : { source: remote, target: local }
  const whole = text.length > LONGEST_MESSAGE ? `${text.slice(0, LONGEST_MESSAGE)}\r\n[cut]` : text
  return { at, sent, ...ways, transport: ends.transport, generated: way === 'generated', text: whole, txnId, guessed }
}

/** The answer reveals where its request had gone. */
function correct(dialog: Dialog, framed: Framed): void {
  for (const seen of dialog.seen) {
    if (!seen.guessed || seen.txnId !== framed.txnId || framed.at === null) continue
    seen.target = framed.at
    seen.guessed = false
  }
}

function destinationOf(text: string): string {
  const route = /^Route[ \t]*:[^<\r\n]*<([^>\r\n]+)>/im.exec(text)?.[1]
  const uri = parseUri(route ?? text.split(' ', 2)[1] ?? '')
  if (uri?.scheme !== 'sip' && uri?.scheme !== 'sips') return NOWHERE
  return formatHostPort({ host: uri.host, port: uri.port ?? (uri.scheme === 'sips' ? 5061 : 5060) })
}
