/** A SearXNG on loopback: results by query and page, with the faults of real servers. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface WebResult {
  url: string
  title: string
  content?: string
}

/** `forbidden`: JSON is not among its formats. `no_engine`: an empty answer, because its engines are blocked. */
export type SearxngFault = '429' | '500' | 'forbidden' | 'html' | 'other_json' | 'no_engine' | 'endless' | 'silent'

export interface SearxngServer {
  url: string
  requests: { query: string; page: number; headers: IncomingMessage['headers'] }[]
  fail(fault: SearxngFault, times?: number): void
  close(): Promise<void>
}

/** `pages`: results per page by query, or `*` for all others; later pages are empty. */
export async function startSearxngServer(pages: Record<string, WebResult[][]>): Promise<SearxngServer> {
  const requests: SearxngServer['requests'] = []
  const faults: SearxngFault[] = []
  const server = createServer((request, response) => {
    response.on('error', () => {})
    const { pathname, searchParams } = new URL(request.url!, 'http://localhost')
    const query = searchParams.get('q') ?? ''
    const page = Number(searchParams.get('pageno') ?? 1)
    requests.push({ query, page, headers: request.headers })
    const fault = faults.shift()
    if (fault) return answerBadly(fault, response)
    if (pathname !== '/search' || searchParams.get('format') !== 'json' || query === '')
      return void response.writeHead(400).end()
    const results = (pages[query] ?? pages['*'] ?? [])[page - 1] ?? []
    sendJson(response, {
      query,
      number_of_results: 0,
      results: results.map(result => ({ ...result, engine: 'test', engines: ['test'], score: 1, category: 'general' })),
      answers: [],
      corrections: [],
      infoboxes: [],
      suggestions: [],
      unresponsive_engines: [],
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    fail: (fault, times = 1) => void faults.push(...Array.from({ length: times }, () => fault)),
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

const sendJson = (response: ServerResponse, value: unknown) =>
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value))

function answerBadly(fault: SearxngFault, response: ServerResponse): void {
  switch (fault) {
    case '429':
    case '500':
      return void response.writeHead(Number(fault)).end('busy')
    case 'forbidden':
      return void response.writeHead(403).end('<h1>Forbidden</h1>')
    case 'html':
      return void response.writeHead(200, { 'content-type': 'text/html' }).end('<html><body>results</body></html>')
    case 'other_json':
      return void sendJson(response, { results: { a: 1 } })
    case 'no_engine':
      return void sendJson(response, { results: [], unresponsive_engines: [['test', 'Suspended: CAPTCHA']] })
    case 'endless': {
      const write = () => {
        while (!response.destroyed && response.write('{"results":['.repeat(5000)));
        if (!response.destroyed) response.once('drain', write)
      }
      response.writeHead(200, { 'content-type': 'application/json' })
      return void write()
    }
    case 'silent':
      return
  }
}
