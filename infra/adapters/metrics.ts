/** The metrics of a process and the page that serves them. */
import { createMetrics, type Metrics } from '../../media/shared/metrics.ts'
import { countProcess, openMetricsPage } from '../../media/shared/metrics-page.ts'
import type { Config } from '../config/config.ts'

export interface ProcessMetrics {
  metrics: Metrics
  /** Port of the metrics page; null when disabled. */
  port: number | null
  close(): Promise<void>
}

export async function openMetrics(config: Pick<Config, 'METRICS_HOST' | 'METRICS_PORT'>): Promise<ProcessMetrics> {
  const metrics = createMetrics()
  countProcess(metrics)
  const { METRICS_HOST: host, METRICS_PORT: port } = config
  if (port === undefined) return { metrics, port: null, close: async () => {} }
  const page = await openMetricsPage(metrics, { host, port })
  return { metrics, port: page.port, close: page.close }
}
