/** Background jobs on pg-boss. A job is put in the transaction that makes it necessary, so none is ever forgotten. */
import { PgBoss, type SendOptions } from 'pg-boss'
import type { Log } from '../media/ports.ts'
import type { Tx } from './db/connect.ts'
import type { Deps } from './deps.ts'
import { errorFields, rethrowBare } from './log.ts'

export interface JobData {
  'call.place': { call_id: string }
  'webhook.deliver': { delivery_id: string; attempt: number }
  'trunks.publish': Record<string, never>
}
export type JobName = keyof JobData

const queues: { [N in JobName]: { retryLimit: number; retryDelay: number; expireInSeconds: number } } = {
  // Tried until the call itself expires; the handler looks.
  'call.place': { retryLimit: 600, retryDelay: 1, expireInSeconds: 30 },
  // The attempts that count are jobs of their own; this retry is for our own failures.
  'webhook.deliver': { retryLimit: 20, retryDelay: 5, expireInSeconds: 30 },
  // However long Redis is away: nobody else tells the engines.
  'trunks.publish': { retryLimit: 1_000_000, retryDelay: 1, expireInSeconds: 30 },
}
const KEPT_SECONDS = 3600
/** How long after its time the job of a process that was killed goes to another one. */
const SUPERVISE_SECONDS = 10
/** Jobs of one kind at once in this process. */
const PLACES: Record<JobName, number> = { 'call.place': 8, 'webhook.deliver': 16, 'trunks.publish': 1 }
/** One customer's slow receivers must not hold every place. Of all processes together. */
const PLACES_OF_AN_OWNER = 4

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
  for (const name of Object.keys(queues) as JobName[]) {
    await boss.createQueue(name, { ...queues[name], deleteAfterSeconds: KEPT_SECONDS, notify: true })
  }
}

export async function enqueue<N extends JobName>(
  deps: Pick<Deps, 'boss'>,
  tx: Tx,
  name: N,
  data: JobData[N],
  options: Pick<SendOptions, 'startAfter' | 'group'> = {},
): Promise<void> {
  await deps.boss.send(name, data, {
    ...options,
    db: { executeSql: async (text, values) => ({ rows: await tx.unsafe(text, values as never[], { prepare: true }) }) },
  })
}

export interface Workers {
  stop(): Promise<void>
}

export async function startWorkers(
  deps: Deps,
  handlers: { [N in JobName]: (data: JobData[N]) => Promise<void> },
): Promise<Workers> {
  const names = Object.keys(queues) as JobName[]
  for (const name of names) {
    for (let place = 0; place < PLACES[name]; place++) {
      const worker = { id: '' }
      worker.id = await deps.boss.work<JobData[typeof name]>(
        name,
        {
          ...(name === 'webhook.deliver' ? { groupConcurrency: PLACES_OF_AN_OWNER } : {}),
          pollingIntervalSeconds: 2,
          notifyPollingIntervalSeconds: 5,
        },
        async jobs => {
          try {
            for (const job of jobs) {
              await (handlers[name] as (data: unknown) => Promise<void>)(job.data).catch(rethrowBare)
            }
          } finally {
            // Or it would sleep until the next poll, and a backlog would take minutes: nobody tells of jobs that wait.
            deps.boss.notifyWorker(worker.id)
          }
        },
      )
    }
  }
  return {
    async stop() {
      await Promise.all(names.map(name => deps.boss.offWork(name, { wait: true })))
    },
  }
}
