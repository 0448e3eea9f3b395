/** The customer's side: one HTTP server for tools and webhooks, which engine and control may reach. */
import { createHmac } from 'node:crypto'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import { PATIENCE } from './world.ts'

export interface Got {
  method: string
  path: string
  headers: IncomingHttpHeaders
  body: string
  atMs: number
}

export interface World {
  port: number
  url: string
  received: Got[]
  /** Handles this path and all below it; other paths get 404. */
  on(path: string, answer: (request: Got, response: ServerResponse) => unknown): void
  /** The first matching request, past or future. */
  wait(fits: (request: Got) => boolean, what: string, ms?: number): Promise<Got>
  close(): Promise<void>
}

export async function startWorld(): Promise<World> {
  const received: Got[] = []
  const routes = new Map<string, (request: Got, response: ServerResponse) => unknown>()
  const waiting = new Set<() => void>()
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', chunk => chunks.push(chunk))
    request.on('end', () => {
      const { method = '', url: path = '', headers } = request
      const got = { method, path, headers, body: Buffer.concat(chunks).toString(), atMs: performance.now() }
      received.push(got)
      for (const look of waiting) look()
      const route = [...routes.keys()].find(known => path === known || path.startsWith(`${known}/`))
      if (route === undefined) response.writeHead(404).end()
      else routes.get(route)!(got, response)
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    received,
    on: (path, answer) => void routes.set(path, answer),
    wait(fits, what, ms = 15_000) {
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          waiting.delete(look)
          reject(new Error(`waited ${ms * PATIENCE} ms for ${what}`))
        }, ms * PATIENCE)
        const look = () => {
          const found = received.find(fits)
          if (!found) return
          clearTimeout(timer)
          waiting.delete(look)
          resolve(found)
        }
        waiting.add(look)
        look()
      })
    },
    async close() {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
}

export const json = (response: ServerResponse, body: unknown) =>
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))

/** The signature of a request: `sha256=` and the HMAC-SHA256 of the raw body, with the whole secret as key. */
export const signatureOf = (request: Got, secret: string) =>
  `sha256=${createHmac('sha256', secret).update(request.body).digest('hex')}`
