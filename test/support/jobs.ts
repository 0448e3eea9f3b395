/** Handlers of jobs for tests that run only some of them. */
import type { startWorkers } from '../../control/platform/jobs/jobs.ts'

type Handlers = Parameters<typeof startWorkers>[1]

/** Handles these jobs; jobs of other queues are fetched and discarded. */
export const onlyJobs = (handlers: Partial<Handlers>): Handlers =>
  new Proxy({} as Handlers, {
    get: (_, name) => handlers[name as keyof Handlers] ?? (async () => {}),
  })
