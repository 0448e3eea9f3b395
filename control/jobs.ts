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
  'webhook.deliver': { retryLimit: 20, retryDelay: 5, expireInSeconds: 60 },
  'trunks.publish': { retryLimit: 600, retryDelay: 1, expireInSeconds: 30 },
}
const KEPT_SECONDS = 3600

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
    await deps.boss.work<JobData[typeof name]>(
      name,
      {
        localConcurrency: name === 'trunks.publish' ? 1 : 8,
        // One customer's slow receiver must not hold every place.
        ...(name === 'webhook.deliver' ? { localGroupConcurrency: 3 } : {}),
        pollingIntervalSeconds: 2,
        notifyPollingIntervalSeconds: 5,
      },
      async jobs => {
        for (const job of jobs) await (handlers[name] as (data: unknown) => Promise<void>)(job.data).catch(rethrowBare)
      },
    )
  }
  return {
    async stop() {
      await Promise.all(names.map(name => deps.boss.offWork(name, { wait: true })))
    },
  }
}
