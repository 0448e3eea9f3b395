/** Many sites on one loopback port, distinguished by host name; a site may be endless or slow. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createSafeFetch } from '../../infra/adapters/safe-fetch.ts'
import type { Fetch } from '../../media/shared/fetch.ts'

export type SiteAnswer =
  | string
  | { status?: number; headers?: Record<string, string>; body?: string | Buffer }
  | ((request: IncomingMessage, response: ServerResponse) => void)

export interface SiteServer {
  port: number
  /** `http://host:port/` */
  url(host: string): string
  /** Pages by path and query; `*` answers the rest, which is 404 without it. */
  add(host: string, pages: Record<string, SiteAnswer>): void
  /** `host path` of each request, in order. */
  hits: string[]
  /** The real guard, which allows these names and nothing else on this machine. */
  fetch: Fetch
  close(): Promise<void>
}

export async function startSiteServer(): Promise<SiteServer> {
  const sites = new Map<string, Record<string, SiteAnswer>>()
  const hits: string[] = []
  const server = createServer((request, response) => {
    const host = (request.headers.host ?? '').replace(/:\d+$/, '')
    hits.push(`${host} ${request.url}`)
    const pages = sites.get(host)
    const answer = pages?.[request.url!] ?? pages?.['*'] ?? { status: 404, body: '<p>nothing here</p>' }
    if (typeof answer === 'function') return answer(request, response)
    const whole = typeof answer === 'string' ? { body: answer } : answer
    const { status = 200, headers = { 'content-type': 'text/html' }, body = '' } = whole
    response.writeHead(status, headers).end(body)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const port = (server.address() as AddressInfo).port
  const allow: string[] = []
  let guard: Fetch | null = null
  return {
    port,
    hits,
    url: host => `http://${host}:${port}/`,
    add(host, pages) {
      sites.set(host, pages)
      allow.push(`${host}:${port}`)
      guard = null
    },
    fetch(request) {
      guard ??= createSafeFetch({ allow, resolve: async () => ['127.0.0.1'] })
      return guard(request)
    },
    async close() {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
}
