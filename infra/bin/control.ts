/** A control process: REST, webhooks, jobs. Several may share one Postgres and one Redis. */
import { hostname } from 'node:os'
import { buildApp, startControl } from '../../control/app.ts'
import { migrate } from '../../control/platform/db/migrate.ts'
import { installQueues } from '../../control/platform/jobs/jobs.ts'
import { systemClock as clock } from '../adapters/clock.ts'
import { createLog } from '../adapters/log.ts'
import { openMetrics } from '../adapters/metrics.ts'
import { openTracing } from '../adapters/tracing.ts'
import { readConfig } from '../config/config.ts'
import { buildControlParts, required } from '../wiring/parts.ts'
import { runUntilStopped } from './run-until-stopped.ts'

await runUntilStopped('control', async hurry => {
  const config = readConfig()
  const log = createLog('control', config.PARLEY_LOG_LEVEL)
  await migrate({ url: required(config.DATABASE_URL, 'DATABASE_URL') })
  const counted = await openMetrics(config)
  const instance = `${hostname()}-${process.pid}`
  const traces = await openTracing(config, { name: 'control', instance, clock, log })
  const parts = buildControlParts(config, log, instance, { metrics: counted.metrics, tracing: traces.tracing, hurry })
  await parts.boss.start()
  await installQueues(parts.boss)
  const app = await buildApp(parts)
  const control = await startControl(parts)
  await app.listen({ host: config.HTTP_HOST, port: config.HTTP_PORT })
  return {
    ready: { http: `${config.HTTP_HOST}:${config.HTTP_PORT}`, metrics: counted.port },
    drainMs: parts.config.drain_ms,
    async stop() {
      await app.close() // first stop new requests, then new work, then the stores
      await control.stop()
      await parts.boss.stop({ graceful: true, timeout: 5000 })
      await parts.close()
      await Promise.all([counted.close(), traces.close()])
    },
  }
})
