/** Answers the agents' tools over HTTP as their scenarios define, and tracks pending requests. */
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Tool } from '../../control/agents/projects/schema.ts'
import type { ToolAnswer } from './scenario.ts'

export interface ToolServer {
  port: number
  /** Registers the answers of one call under their own path. */
  place(answers: Record<string, ToolAnswer>): CallTools
  close(): Promise<void>
}

export interface CallTools {
  /** Redirects the tool to this server if the scenario has an answer for it. */
  here(tool: Tool): Tool
  waiting(): boolean
  /** Number of requests answered or aborted. */
  settled(): number
  leave(): void
}

interface CallAnswers {
  answers: Record<string, ToolAnswer>
  open: Set<ServerResponse>
  settled: number
}

export async function startToolServer(port = 0, host = '127.0.0.1'): Promise<ToolServer> {
  const places = new Map<string, CallAnswers>()
  let last = 0
  const server = createServer((request, response) => {
    request.resume()
    const [, name = '', tool = ''] = (request.url ?? '').split(/[/?]/)
    const place = places.get(name)
    const answer = place?.answers[tool]
    if (!place || !answer) return void response.writeHead(404).end()
    place.open.add(response)
    response.on('close', () => {
      place.open.delete(response)
      place.settled++
    })
    if (answer.fails === 'timeout') return // until the client gives up
    setTimeout(() => {
      if (answer.fails === 'network') return void response.destroy()
      response.writeHead(answer.status, { 'content-type': 'application/json' }).end(JSON.stringify(answer.body))
    }, answer.delay_ms)
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  const at = (server.address() as AddressInfo).port
  return {
    port: at,
    place(answers) {
      const name = `call-${++last}`
      const place: CallAnswers = { answers, open: new Set(), settled: 0 }
      places.set(name, place)
      return {
        here: tool =>
          answers[tool.name]
            ? { ...tool, url: tool.url.replace(/^[^/]*\/\/[^/?#]*/, `http://${host}:${at}/${name}/${tool.name}`) }
            : tool,
        waiting: () => place.open.size > 0,
        settled: () => place.settled,
        leave: () => places.delete(name),
      }
    },
    async close() {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
}
