/** Sends OPTIONS to the hosts of trunks that enable it, and records whether they answer and how fast. */
import type { TrunkPlan } from '../../../media/contract/plan.ts'
import type { Clock } from '../../../media/shared/clock.ts'
import type { Log } from '../../../media/shared/log.ts'
import { ask } from '../requests/ask.ts'
import { secondsIn } from '../requests/outcome.ts'
import type { Agent } from '../requests/srf.ts'
import { proxyUri, trunkUri } from '../routing/address.ts'
import { type HostHealth, hostsOf } from '../routing/hosts.ts'
import { accountUri, accountUser } from '../routing/identity.ts'
import { hostOfHop, type NextHop, type NextHopResolver, nextHopUri } from '../routing/next-hop.ts'

export type PingerOptions = {
  readonly agent: Agent
  readonly health: HostHealth
  readonly nextHops: NextHopResolver
  readonly clock: Clock
  readonly log: Log
  all(): readonly TrunkPlan[]
  /** Called when a host's status changes, and at least once a minute. */
  onHosts(trunk: TrunkPlan): void
}

/** Milliseconds to wait for an answer: 64*T1 of RFC 3261 would detect a failure too late. */
const ANSWER_WAIT_MS = 4000
/** Milliseconds between reports of response times, which would otherwise follow every ping. */
const REPORT_EVERY_MS = 60_000

type Watch = { trunk: TrunkPlan; readonly key: string; cancel: () => void; reported: string; reportedAtMs: number }

const keyOf = (trunk: TrunkPlan): string => JSON.stringify([hostsOf(trunk), trunk.options_interval_seconds])

export class Pinger {
  private readonly options: PingerOptions
  private readonly watches = new Map<string, Watch>()
  private readonly asking = new Map<string, Promise<void>>()
  private up = false

  constructor(options: PingerOptions) {
    this.options = options
  }

  connected(up: boolean): void {
    this.up = up
    if (!up) this.close()
    else this.sync()
  }

  /** Starts and stops pings to match the trunks. */
  sync(): void {
    if (!this.up) return
    const wanted = new Map(
      this.options
        .all()
        .filter(trunk => trunk.options_interval_seconds !== null)
        .map(trunk => [trunk.id, trunk]),
    )
    for (const [id, watch] of this.watches) {
      const trunk = wanted.get(id)
      if (trunk !== undefined && keyOf(trunk) === watch.key) {
        watch.trunk = trunk
        continue
      }
      watch.cancel()
      this.watches.delete(id)
    }
    for (const [id, trunk] of wanted) {
      if (this.watches.has(id)) continue
      const watch: Watch = { trunk, key: keyOf(trunk), cancel: () => {}, reported: '', reportedAtMs: 0 }
      this.watches.set(id, watch)
      void this.round(watch)
    }
  }

  close(): void {
    for (const watch of this.watches.values()) watch.cancel()
    this.watches.clear()
  }

  private async round(watch: Watch): Promise<void> {
    const { clock } = this.options
    const everyMs = (watch.trunk.options_interval_seconds ?? 60) * 1000
    // Varies the interval by 10 % either way, to spread the pings of many trunks.
    watch.cancel = clock.after(everyMs * (0.9 + 0.2 * Math.random()), () => void this.round(watch))
    const nextHops = await this.options.nextHops.of(watch.trunk)
    await Promise.all(nextHops.map(hop => this.ask(watch.trunk, hop)))
    if (this.watches.get(watch.trunk.id) === watch) this.report(watch, nextHops)
  }

  private report(watch: Watch, nextHops: readonly NextHop[]): void {
    const { health, clock, onHosts } = this.options
    const news = nextHops
      .map(hop => `${nextHopUri(hop)} ${health.statusOf(hostOfHop(hop)).alive}`)
      .sort()
      .join()
    if (news === watch.reported && clock.now() - watch.reportedAtMs < REPORT_EVERY_MS) return
    watch.reported = news
    watch.reportedAtMs = clock.now()
    onHosts(watch.trunk)
  }

  /** Pings one host now and records the result in `health`. Never rejects. */
  ask(trunk: TrunkPlan, hop: NextHop): Promise<void> {
    const key = `${trunk.id} ${trunkUri(hop.host, null)} ${nextHopUri(hop)}`
    const asking = this.asking.get(key) ?? this.send(trunk, hop).finally(() => this.asking.delete(key))
    this.asking.set(key, asking)
    return asking
  }

  private async send(trunk: TrunkPlan, hop: NextHop): Promise<void> {
    const { agent, health, clock, log } = this.options
    const startedMs = clock.now()
    const host = hostOfHop(hop)
    const uri = trunkUri(hop.host, null)
    const user = accountUser(trunk)
    const headers = (): Record<string, string> => ({
      From: `<${user === null ? 'sip:ping@localhost' : accountUri(trunk, user)}>`,
      To: `<${uri}>`,
      Accept: 'application/sdp',
    })
    const answered = ask(agent, uri, { method: 'OPTIONS', headers, proxy: nextHopUri(hop) ?? proxyUri(trunk) }, null)
    let cancelWait = (): void => {}
    const waited = new Promise<null>(resolve => {
      cancelWait = clock.after(ANSWER_WAIT_MS, () => resolve(null))
    })
    try {
      const asked = await Promise.race([answered, waited])
      if (asked === null || asked.res.source_address === '') health.recordSilence(host)
      else if (asked.res.status === 503) {
        const seconds = secondsIn(asked.res.get('Retry-After'))
        health.recordFailure(host, seconds === null ? null : seconds * 1000)
      } else health.recordAnswer(host, Math.round(clock.now() - startedMs)) // Any status proves that the host is there.
    } catch (error) {
      log.debug({ err: error, trunk_id: trunk.id }, 'sending OPTIONS failed')
    } finally {
      cancelWait()
    }
    answered.catch(() => {})
  }
}
