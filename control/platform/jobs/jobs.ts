/** Background jobs on pg-boss. A job is enqueued in the transaction that makes it necessary, so none is lost. */
import { PgBoss, type SendOptions } from 'pg-boss'
import type { Log } from '../../../media/shared/log.ts'
import type { Tx } from '../db/connect.ts'
import type { Deps } from '../deps.ts'
import { errorFields, rethrowBare } from '../log.ts'
import { JOB_NAMES, type JobName } from './job-names.ts'

export interface JobData extends Record<JobName, object> {
  'call.place': { call_id: string }
  'campaign.place': { call_ids: string[] }
  'webhook.deliver': { delivery_id: string; attempt: number }
  'trunks.publish': Record<string, never>
  'softphone.publish': { id: string; username: string }
  'knowledge.index': { owner_id: string; source_id: string }
  /** Sites, and what needs more than the first slice of `knowledge.index`. */
  'knowledge.long': { owner_id: string; source_id: string; long: true }
  'knowledge.forget': { keys: string[] }
  'leads.search': { owner_id: string; job_id: string }
  'account.erase': { owner_id: string }
  'account.stopped': {
    owner_id: string
    at: string
    reason: string
    countries: string[] | null
    spent: string | null
    usual: string | null
  }
}

interface Queue {
  retryLimit: number
  retryDelay: number
  expireInSeconds: number
  /** The delay doubles with each retry, up to `retryDelayMax` seconds. */
  retryBackoff?: true
  retryDelayMax?: number
  /** Seconds of silence after which a long-running job is given to another process. */
  heartbeatSeconds?: number
  /**
   * Announces a job to all processes with NOTIFY, which takes a lock at commit that serialises transactions: only for
   * rare jobs that must start at once.
   */
  notify: boolean
}
/** The row counts the attempts: see knowledge/indexing.ts. */
const INDEXING: Queue = {
  retryLimit: 1_000_000,
  retryDelay: 2,
  retryBackoff: true,
  retryDelayMax: 300,
  expireInSeconds: 3600,
  heartbeatSeconds: 10,
  notify: false,
}
const queues: { [N in JobName]: Queue } = {
  // Retried until the call itself expires; the handler checks.
  'call.place': { retryLimit: 600, retryDelay: 1, expireInSeconds: 30, notify: false },
  'campaign.place': { retryLimit: 600, retryDelay: 1, expireInSeconds: 30, notify: false },
  // The attempts that count are separate jobs; these retries are for our own failures.
  'webhook.deliver': { retryLimit: 20, retryDelay: 5, expireInSeconds: 30, notify: false },
  // Retried as long as Redis is unreachable: nothing else informs the engines.
  'trunks.publish': { retryLimit: 1_000_000, retryDelay: 1, expireInSeconds: 30, notify: true },
  'softphone.publish': { retryLimit: 1_000_000, retryDelay: 1, expireInSeconds: 30, notify: true },
  'knowledge.index': INDEXING,
  'knowledge.long': INDEXING,
  // Retried until the blob store is reachable.
  'knowledge.forget': {
    retryLimit: 1_000_000,
    retryDelay: 5,
    retryBackoff: true,
    retryDelayMax: 300,
    expireInSeconds: 60,
    notify: false,
  },
  // The row limits attempts and time: see leads/job.ts.
  'leads.search': {
    retryLimit: 1_000_000,
    retryDelay: 2,
    retryBackoff: true,
    retryDelayMax: 300,
    expireInSeconds: 3 * 3600,
    heartbeatSeconds: 10,
    notify: false,
  },
  // Retried until the last call has ended and the blob store is reachable.
  'account.erase': { retryLimit: 1_000_000, retryDelay: 30, expireInSeconds: 3600, notify: false },
  'account.stopped': { retryLimit: 20, retryDelay: 5, expireInSeconds: 60, notify: true },
}
const KEPT_SECONDS = 3600
const POLL_SECONDS = 2
/** Queues with more places have one idle place look every two seconds, which wakes the next when it finds a job. */
const MANY = 8
const IDLE_POLL_SECONDS = 30
/** Seconds after its deadline at which the job of a killed process goes to another one. */
const SUPERVISE_SECONDS = 10
/**
 * Concurrent jobs of each kind in this process. Where jobs mostly wait, for sites or for their owner's turn, there are
 * enough places that a few owners cannot take all.
 */
const PLACES: Record<JobName, number> = {
  'call.place': 8,
  'campaign.place': 4,
  'webhook.deliver': 48,
  'trunks.publish': 1,
  'softphone.publish': 1,
  // A first slice takes seconds at most.
  'knowledge.index': 8,
  'knowledge.long': 32,
  'knowledge.forget': 1,
  'leads.search': 32,
  'account.erase': 1,
  'account.stopped': 2,
}
/** Limit for one owner over all processes: a customer's slow receivers or hundred sites must not occupy all workers. */
const PLACES_OF_AN_OWNER: Partial<Record<JobName, number>> = {
  'webhook.deliver': 4,
  'knowledge.index': 1,
  'knowledge.long': 1,
}

const isMany = (name: JobName): boolean => PLACES[name] > MANY

/** The caller starts and stops it. */
export function createBoss(options: {
  url: string
  schema?: string
  max?: number
  log: Log
  supervise?: boolean
}): PgBoss {
  const boss = new PgBoss({
    connectionString: options.url,
    schema: options.schema ?? 'parley_jobs',
    max: options.max ?? 5,
    application_name: 'parley-jobs',
    useListenNotify: true,
    schedule: false,
    supervise: options.supervise ?? true,
    superviseIntervalSeconds: SUPERVISE_SECONDS,
    monitorIntervalSeconds: SUPERVISE_SECONDS,
  })
  boss.on('error', error => options.log.error({ error: errorFields(error) }, 'job queue failed'))
  return boss
}

export async function installQueues(boss: PgBoss): Promise<void> {
  for (const name of JOB_NAMES) {
    const options = { ...queues[name], deleteAfterSeconds: KEPT_SECONDS }
    await boss.createQueue(name, options)
    await boss.updateQueue(name, options) // an existing queue otherwise keeps its old options
  }
}

const enqueued = new WeakMap<Tx, Set<JobName>>()

/**
 * Runs a transaction whose jobs this process fetches as soon as it has committed; other processes find them within two
 * seconds.
 */
export async function withJobs<T>(deps: Pick<Deps, 'sql' | 'boss'>, work: (tx: Tx) => Promise<T>): Promise<T> {
  const names = new Set<JobName>()
  const result = await deps.sql.begin(tx => {
    enqueued.set(tx, names)
    return work(tx)
  })
  for (const name of names) wake(deps.boss, name)
  return result as T
}

export async function enqueue<N extends JobName>(
  deps: Pick<Deps, 'boss'>,
  tx: Tx,
  name: N,
  data: JobData[N],
  options: Pick<SendOptions, 'startAfter' | 'group' | 'priority'> = {},
): Promise<void> {
  if (options.startAfter === undefined) enqueued.get(tx)?.add(name)
  await deps.boss.send(name, data, {
    ...options,
    db: { executeSql: async (text, values) => ({ rows: await tx.unsafe(text, values as never[], { prepare: true }) }) },
  })
}

interface Place {
  id: string
  busy: boolean
}
const places = new WeakMap<PgBoss, Map<JobName, Place[]>>()

/** Wakes an idle worker; busy ones fetch again when they finish. */
function wake(boss: PgBoss, name: JobName): void {
  const all = places.get(boss)?.get(name) ?? []
  const index = all.findIndex(place => !place.busy)
  if (index < 0) return
  const [idle] = all.splice(index, 1)
  all.push(idle!) // otherwise two jobs at nearly the same time would wake the same worker
  boss.notifyWorker(idle!.id)
}

export interface Workers {
  stop(): Promise<void>
}

export async function startWorkers(
  deps: Deps,
  handlers: { [N in JobName]: (data: JobData[N]) => Promise<void> },
): Promise<Workers> {
  const names = Object.keys(queues) as JobName[]
  const all = new Map<JobName, Place[]>(names.map(name => [name, []]))
  places.set(deps.boss, all)
  for (const name of names) {
    for (let i = 0; i < PLACES[name]; i++) {
      const place = { id: '', busy: false }
      all.get(name)!.push(place)
      place.id = await deps.boss.work<JobData[typeof name]>(
        name,
        {
          ...(PLACES_OF_AN_OWNER[name] ? { groupConcurrency: PLACES_OF_AN_OWNER[name] } : {}),
          pollingIntervalSeconds: isMany(name) ? IDLE_POLL_SECONDS : POLL_SECONDS,
        },
        async jobs => {
          place.busy = true
          if (isMany(name)) wake(deps.boss, name)
          try {
            for (const job of jobs) {
              await (handlers[name] as (data: unknown) => Promise<void>)(job.data).catch(rethrowBare)
            }
          } finally {
            place.busy = false
            // Otherwise the worker would sleep until the next poll, and a backlog would take minutes: waiting jobs are
            // not announced.
            deps.boss.notifyWorker(place.id)
          }
        },
      )
    }
  }
  const looking = setInterval(() => {
    for (const name of names.filter(isMany)) wake(deps.boss, name)
  }, POLL_SECONDS * 1000)
  return {
    async stop() {
      clearInterval(looking)
      places.delete(deps.boss)
      await Promise.all(names.map(name => deps.boss.offWork(name, { wait: true })))
    },
  }
}
