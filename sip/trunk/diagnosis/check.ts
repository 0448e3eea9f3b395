/**
 * Checks a trunk now: DNS, port, certificate, OPTIONS to every host, REGISTER. Places no call and changes no
 * registration.
 */
import { randomUUID } from 'node:crypto'
import { TrunkChecksBusy } from '../../../media/bus/trunk-check.ts'
import type { TrunkHost, TrunkPlan } from '../../../media/contract/plan.ts'
import type { Diagnosis, TracedMessage, TrunkCheckReport, TrunkCheckStep } from '../../../media/contract/sip-trace.ts'
import type { Clock } from '../../../media/shared/clock.ts'
import { within } from '../../../media/shared/within.ts'
import type { Resolver } from '../../server/resolve.ts'
import { formatHostPort } from '../../text/grammar.ts'
import { headerOf, listOf } from '../../text/message.ts'
import { parseUri } from '../../text/uri.ts'
import { parseVia } from '../../text/validate.ts'
import { registers } from '../registration/client.ts'
import { ask } from '../requests/ask.ts'
import { accountOf, Credentials } from '../requests/credentials.ts'
import type { Agent, IncomingResponse } from '../requests/srf.ts'
import { proxyUri, trunkUri } from '../routing/address.ts'
import { hostsOf, type Target } from '../routing/hosts.ts'
import { accountUri, accountUser } from '../routing/identity.ts'
import { type NextHop, type NextHopResolver, nextHopUri, targetOf } from '../routing/next-hop.ts'
import type { Traces } from '../trace/trace.ts'
import { SKEW_S, skewed } from './auth.ts'
import { diagnose } from './call.ts'
import { isPublic, type Read, readFacts, skewSeconds, statusOf } from './facts.ts'
import { type MayReach, probeName, probePort } from './probe.ts'
import { probeRecords } from './records.ts'
import { makeDiagnosis, transportDiagnosis } from './transport.ts'

export type ExaminerOptions = {
  readonly agent: Agent
  readonly traces: Traces
  readonly clock: Clock
  readonly resolver: Resolver
  readonly nextHops: NextHopResolver
  /** True when a trunk may be at an address; any address when left out. */
  readonly mayReach?: MayReach
  /** Call-IDs of the trunk's own registration, when this engine holds it. */
  live(trunkId: string): readonly string[]
}

type Name = TrunkCheckStep['name']
/** The result for one host. `cause` is a failure below SIP. */
type HostResult = {
  readonly host: TrunkHost
  readonly steps: TrunkCheckStep[]
  readonly callId: string
  readonly answered: IncomingResponse | null
  readonly cause: Omit<Diagnosis, 'evidence'> | null
}

const ANSWER_WAIT_MS = 4000
/** Most servers checked behind one name; carriers have a handful. */
const MOST_TARGETS = 6
/** Most checks at once: each may cover many hosts, and this machine carries calls meanwhile. */
const MOST_AT_ONCE = 8
/** Most checks at once for one account, so that none uses them all. */
const MOST_OF_AN_OWNER = 3
/** Messages of the trunk's own registration to include. */
const LIVE_MESSAGES = 8

export class Examiner {
  private readonly options: ExaminerOptions
  private readonly running = new Map<string, { ownerId: string; report: Promise<TrunkCheckReport> }>()

  constructor(options: ExaminerOptions) {
    this.options = options
  }

  /**
   * Returns the running report when the same check is already under way. Rejects with TrunkChecksBusy when too many are.
   */
  examine(trunk: TrunkPlan): Promise<TrunkCheckReport> {
    const key = JSON.stringify(trunk)
    const known = this.running.get(key)
    if (known !== undefined) return known.report
    const own = [...this.running.values()].filter(({ ownerId }) => ownerId === trunk.owner_id).length
    if (own >= MOST_OF_AN_OWNER) return Promise.reject(new TrunkChecksBusy(true))
    if (this.running.size >= MOST_AT_ONCE) return Promise.reject(new TrunkChecksBusy(false))
    const report = this.run(trunk).finally(() => this.running.delete(key))
    this.running.set(key, { ownerId: trunk.owner_id, report })
    return report
  }

  private async run(trunk: TrunkPlan): Promise<TrunkCheckReport> {
    const hosts = (await Promise.all(hostsOf(trunk).map(host => this.checkHost(trunk, host)))).flat()
    const reachable = hosts.find(({ answered }) => answered !== null) ?? hosts.find(({ cause }) => cause === null)
    const register = registers(trunk) && reachable !== undefined ? await this.register(trunk, reachable.host) : null
    const { traces, live } = this.options
    const own = traces.peek(...live(trunk.id)).messages.slice(-LIVE_MESSAGES)
    const proven = register !== null && isSuccess(register.res)
    // Earlier messages of the registration count only when its refusal persists, or when nothing else is known.
    const past = isTooBrief(own) || (!register?.res && !isUnderWay(own)) ? own : []
    const ids = [...hosts.map(({ callId }) => callId), ...(register === null ? [] : [register.callId])]
    const seen = traces.peek(...ids)
    const messages = [...past, ...seen.messages]
    const diagnosis = this.cause(trunk, hosts, messages)
    const registered = register === null ? [] : [registerStep(register, own, diagnosis)]
    const steps = [...hosts.flatMap(({ steps }) => steps), ...registered]
    const silent = reachable?.answered === null ? hosts.filter(({ host }) => host === reachable.host) : []
    return conclude(forgiven(steps, proven ? silent : []), { ...seen, messages }, diagnosis)
  }

  private async checkHost(trunk: TrunkPlan, host: TrunkHost): Promise<HostResult[]> {
    const { mayReach = () => true } = this.options
    const hop = nextHopOf(trunk, host)
    const { port } = hop
    if (port !== null) return [await this.checkTarget(trunk, { host, at: null }, { ...hop, port }, hop.host)]
    const parts = { ...this.options, mayReach }
    const { hops, blocked, ...found } = await probeRecords(parts, proxyUri(trunk) ?? trunkUri(host, null), hop.host)
    const step: TrunkCheckStep = { name: 'dns', host: formatHostPort(hop), ...found }
    if (!found.ok) {
      const cause = blocked ? notAllowed(found.message) : noDns(found.message)
      return [{ host, steps: [step], callId: '', answered: null, cause }]
    }
    const results = await Promise.all(
      hops.slice(0, MOST_TARGETS).map(one => {
        const at = targetOf(one)
        // Over TLS the name must match the certificate, so the signalling server resolves it itself.
        return this.checkTarget(trunk, { host, at: at.transport === 'tls' ? null : at }, at, one.name)
      }),
    )
    results[0]?.steps.unshift(step)
    return results
  }

  private async checkTarget(trunk: TrunkPlan, place: NextHop, hop: Target, named: string): Promise<HostResult> {
    const { resolver, clock, mayReach = () => true } = this.options
    const { host } = place
    const at = formatHostPort(hop)
    const steps: TrunkCheckStep[] = []
    const note = (name: Name, step: Omit<TrunkCheckStep, 'name' | 'host'>): number =>
      steps.push({ name, host: at, ...step })
    const nobody = { host, steps, callId: '', answered: null }
    const name = await probeName(one => resolver.addresses(one), clock, hop.host, mayReach)
    if (name !== null) note('dns', name)
    if (name?.ok === false) {
      const { message } = name
      return { ...nobody, cause: name.blocked ? notAllowed(message) : noDns(message) }
    }
    const port = await probePort(clock, hop, mayReach, named)
    if (port !== null) {
      const { ok, message, ms } = port.connect
      const cause = ok ? null : transportDiagnosis(message, at)
      note('connect', { ok, message: cause?.message ?? (ok ? message : `Couldn’t connect: ${message}.`), ms })
      if (!ok) return { ...nobody, cause: cause ?? unreachable(at) }
    }
    const { callId, answered, ms } = await this.ping(trunk, place)
    const certificate = port?.certificate ?? null
    if (certificate !== null) note('certificate', answered === null ? certificate : { ...certificate, ok: true })
    const message =
      answered === null ? this.silence(trunk, callId) : `The host answered ${answered.status} ${answered.reason}.`
    note('options', { ok: answered !== null, message, ms })
    const readable = readableKeys(trunk, hop)
    if (readable !== null) note('encryption', { ok: true, message: readable, ms: 0 })
    const bad = certificate !== null && !certificate.ok && answered === null
    return { host, steps, callId, answered, cause: bad ? transportDiagnosis(certificate.message, at) : null }
  }

  private silence(trunk: TrunkPlan, callId: string): string {
    const { messages } = this.options.traces.peek(callId)
    return diagnose({ messages, trunk, media: null, reason: null })?.message ?? 'OPTIONS could not be sent.'
  }

  private ping(trunk: TrunkPlan, place: NextHop) {
    const { host } = place
    const uri = trunkUri(host, null)
    const user = accountUser(trunk)
    const from = user === null ? 'sip:ping@localhost' : accountUri(trunk, user)
    return this.send(
      trunk,
      uri,
      'OPTIONS',
      { From: `<${from}>`, To: `<${uri}>`, Accept: 'application/sdp' },
      null,
      nextHopUri(place),
    )
  }

  /** Queries the bindings: a REGISTER without Contact neither adds nor removes one (RFC 3261 §10.2.3). */
  private async register(trunk: TrunkPlan, host: TrunkHost): Promise<Asked> {
    const account = accountOf(trunk)
    const aor = `<${accountUri(trunk, accountUser(trunk) ?? '')}>`
    const credentials = account === null ? null : new Credentials(account)
    const sent = await this.send(trunk, trunkUri(host, null), 'REGISTER', { From: aor, To: aor }, credentials)
    return { ...sent, res: sent.answered, at: formatHostPort(nextHopOf(trunk, host)) }
  }

  private async send(
    trunk: TrunkPlan,
    uri: string,
    method: 'OPTIONS' | 'REGISTER',
    fixed: Record<string, string>,
    credentials: Credentials | null,
    via: string | null = null,
  ) {
    const { agent, clock } = this.options
    const callId = randomUUID()
    const startedMs = clock.now()
    let seq = 0
    const headers = (): Record<string, string> => {
      seq += 1
      return { ...fixed, 'Call-ID': callId, CSeq: `${seq} ${method}` }
    }
    const asked = ask(agent, uri, { method, headers, proxy: via ?? proxyUri(trunk) }, credentials).catch(() => null)
    const done = await within(clock, ANSWER_WAIT_MS, null, asked)
    const answered = done === null || done.res.source_address === '' ? null : done.res
    return { callId, answered, ms: Math.round(clock.now() - startedMs) }
  }

  private cause(trunk: TrunkPlan, hosts: readonly HostResult[], messages: readonly TracedMessage[]): Diagnosis | null {
    const below = hosts.find(({ cause }) => cause !== null)?.cause
    if (below) return { ...below, evidence: [] }
    return diagnose({ messages, trunk, media: null, reason: null })
  }
}

type Asked = {
  readonly callId: string
  readonly res: IncomingResponse | null
  readonly ms: number
  readonly at: string
}

const isSuccess = (res: IncomingResponse | null): boolean => res !== null && res.status >= 200 && res.status < 300
const isTooBrief = (own: readonly TracedMessage[]): boolean => /^SIP\/2\.0 423/.test(own.at(-1)?.text ?? '')
/** True while a request awaits its answer; a challenge is not a result. */
const isUnderWay = (own: readonly TracedMessage[]): boolean =>
  own.at(-1)?.sent === true || /^SIP\/2\.0 40[17]/.test(own.at(-1)?.text ?? '')
const wasRegistered = (own: readonly TracedMessage[]): boolean => /^SIP\/2\.0 2\d\d/.test(own.at(-1)?.text ?? '')

const noDns = (message: string): Omit<Diagnosis, 'evidence'> => ({ code: 'dns_failed', message, advice: CHECK_DNS })
const CHECK_DNS = 'Check the host’s spelling and this machine’s DNS.'
const notAllowed = (message: string): Omit<Diagnosis, 'evidence'> => ({
  code: 'address_not_allowed',
  message,
  advice: 'Set a public host, or ask the operator to add the network to TRUNK_PRIVATE_HOSTS.',
})

const unreachable = (at: string): Omit<Diagnosis, 'evidence'> => ({
  code: 'transport_unreachable',
  message: `Couldn’t reach ${at}.`,
  advice: 'Check the trunk’s host, port and transport, and the firewall.',
})

/**
 * Warns that SDES puts keys in the description (RFC 4568 §7.3). Null when there are no such keys, or the signalling is
 * encrypted.
 */
function readableKeys({ srtp }: TrunkPlan, { transport }: TrunkHost): string | null {
  if (srtp === 'off' || transport === 'tls') return null
  return `SDES keys are sent in clear text over ${transport}: anyone who sees the signalling can listen. Set the transport to tls; only DTLS does not need it.`
}

/** The host itself, or the outbound proxy in front of it. */
function nextHopOf(trunk: TrunkPlan, host: TrunkHost): TrunkHost {
  const uri = parseUri(proxyUri(trunk) ?? '')
  if (uri?.scheme !== 'sip' && uri?.scheme !== 'sips') return host
  const said = uri.params.get('transport')?.toLowerCase()
  const transport = uri.scheme === 'sips' ? 'tls' : said === 'tcp' || said === 'tls' ? said : 'udp'
  return { host: uri.host, port: uri.port, transport }
}

function registerStep({ res, ms, at }: Asked, own: readonly TracedMessage[], cause: Diagnosis | null): TrunkCheckStep {
  const step = { name: 'register', host: at, ms } as const
  if (isTooBrief(own) && cause !== null) return { ...step, ok: false, message: cause.message }
  if (res !== null && isSuccess(res)) {
    const nextHops = (res.get('Contact') ?? '').split(/>[^<]*</).filter(text => text.trim() !== '').length
    const where = nextHops === 0 ? 'No contact is registered' : `Registered contacts: ${nextHops}`
    return { ...step, ok: true, message: `User name and password are accepted. ${where}.` }
  }
  if (res !== null && wasRegistered(own)) {
    const message = `The trunk is registered; the carrier answered our query with ${res.status} ${res.reason}.`
    return { ...step, ok: true, message }
  }
  return { ...step, ok: false, message: cause?.message ?? 'REGISTER was not answered.' }
}

/** Some carriers never answer OPTIONS: an answer to REGISTER proves that the host is there. */
function forgiven(steps: readonly TrunkCheckStep[], proven: readonly HostResult[]): TrunkCheckStep[] {
  const silent = proven.flatMap(result => result.steps)
  return steps.map(step => {
    if (step.name !== 'options' || step.ok || !silent.includes(step)) return step
    return { ...step, ok: true, message: 'The host does not answer OPTIONS, but it answers REGISTER.' }
  })
}

type Captured = { readonly messages: readonly TracedMessage[]; readonly omitted: number }

function conclude(steps: TrunkCheckStep[], { messages, omitted }: Captured, cause: Diagnosis | null): TrunkCheckReport {
  const { all } = readFacts(messages)
  const answers = all.filter(read => !read.seen.sent && !read.seen.generated && statusOf(read) >= 200)
  const last = answers.at(-1)
  const clock = answers.findLast(read => skewSeconds(read) !== null)
  const skew = clock === undefined ? null : skewSeconds(clock)
  const wrong = clock !== undefined && skew !== null && Math.abs(skew) > SKEW_S ? skewed(clock, skew) : null
  const checks = [...steps]
  const host = last?.seen.source ?? ''
  if (skew !== null) {
    const message = wrong?.message ?? 'The carrier’s clock and ours agree.'
    checks.push({ name: 'clock', host, ok: wrong === null, message, ms: 0 })
  }
  const seenFrom = last === undefined ? null : natWords(last)
  if (seenFrom !== null) checks.push({ name: 'address', host, ok: true, message: seenFrom, ms: 0 })
  const ok = checks.every(check => check.ok)
  const failed = steps.find(step => !step.ok)
  const unnamed = failed === undefined ? null : makeDiagnosis('carrier_refused', failed.message, null)
  return { ok, checks, messages: [...messages], omitted, diagnosis: ok ? null : (cause ?? wrong ?? unnamed) }
}

/** Reports the address that the carrier wrote into our Via (RFC 3581). Null when it sees our own address. */
function natWords({ message }: Read): string | null {
  const via = parseVia(listOf(message, 'Via')[0] ?? headerOf(message, 'Via') ?? '')
  const received = via?.params.get('received') ?? null
  if (via === null || received === null || received === via.host || !isPublic(received)) return null
  return `We are behind a NAT: the carrier sees us at ${received}, but we announce ${via.host}. Inbound calls arrive only if it uses the former.`
}
