/** Live streams as the page follows them, from a server that disconnects, rejects and restarts. */
import { createServer, type ServerResponse } from 'node:http'
import { EventSource } from 'undici'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { follow } from '../../../control/dashboard/page/api/stream.ts'

const answers: ((response: ServerResponse, lastId: string | undefined) => void)[] = []
const asked: (string | undefined)[] = []
const server = createServer((request, response) => {
  const lastId = request.headers['last-event-id'] as string | undefined
  asked.push(lastId)
  const answer = answers.shift()
  if (answer) answer(response, lastId)
  else response.writeHead(500).end()
})
let address: string

beforeAll(async () => {
  Object.assign(globalThis, { EventSource })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  address = `http://127.0.0.1:${(server.address() as { port: number }).port}`
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

const stream =
  (...events: [id: number | null, type: string, data: object][]) =>
  (response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('retry: 10\n\n')
    for (const [id, type, data] of events) {
      response.write(`${id === null ? '' : `id: ${id}\n`}event: ${type}\ndata: ${JSON.stringify(data)}\n\n`)
    }
    response.end()
  }

it('tells each event once, whatever the stream went through, and ends when it is told to', async () => {
  const heard: string[] = []
  const turn = (text: string) => ({ text })
  answers.push(
    stream([1, 'turn', turn('Yes.')], [2, 'turn', turn('Yes.')]),
    // The browser's own way back.
    stream([3, 'turn', turn('No.')]),
    response => response.writeHead(503).end(),
    // Ours: from the first event on. The last one has no number.
    stream(
      [1, 'turn', turn('Yes.')],
      [2, 'turn', turn('Yes.')],
      [3, 'turn', turn('No.')],
      [4, 'turn', turn('Yes.')],
      [null, 'over', {}],
    ),
  )
  const over = Promise.withResolvers<void>()
  const stop = follow(
    `${address}/events`,
    ['turn', 'over'],
    (type, data) => {
      heard.push(`${type} ${data}`)
      if (type !== 'over') return undefined
      over.resolve()
      return 'end'
    },
    20,
  )
  await over.promise
  stop()
  const said = (text: string) => `turn {"text":"${text}"}`
  expect(heard).toEqual([said('Yes.'), said('Yes.'), said('No.'), said('Yes.'), 'over {}'])
  expect(asked).toEqual([undefined, '2', '3', undefined])
})
