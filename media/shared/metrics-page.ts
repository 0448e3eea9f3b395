/** Serves `GET /metrics` on a separate port, which only the operator of the machine should be able to reach. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { METRICS_TYPE, type Metrics } from './metrics.ts'

export interface MetricsPage {
  port: number
  close(): Promise<void>
}

/** Rejects when the port cannot be opened. */
export async function openMetricsPage(metrics: Metrics, { host, port }: { host: string; port: number }) {
  const server = createServer((request, response) => {
    const found = request.url?.split('?')[0] === '/metrics'
    const allowed = request.method === 'GET' || request.method === 'HEAD'
    const status = found ? (allowed ? 200 : 405) : 404
    const headers = status === 405 ? { Allow: 'GET, HEAD' } : {}
    response.writeHead(status, { ...headers, 'content-type': METRICS_TYPE, 'cache-control': 'no-store' })
    response.end(status === 200 && request.method === 'GET' ? metrics.text() : '')
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  const page: MetricsPage = {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  return page
}

/** Registers process metrics under the names that Prometheus' own clients use. */
export function countProcess(metrics: Metrics): void {
  const startedAt = Date.now() / 1000 - process.uptime()
  const gauge = (name: string, help: string, read: () => number) => metrics.gaugeFrom({ name, help }, read)
  metrics.counterFrom({ name: 'process_cpu_seconds_total', help: 'CPU time used, in seconds.' }, () => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1e6
  })
  gauge('process_resident_memory_bytes', 'Resident memory in bytes.', () => process.memoryUsage.rss())
  gauge('process_start_time_seconds', 'Start time of the process, in seconds since 1970.', () => startedAt)
}
