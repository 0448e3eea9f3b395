/**
 * The server of an app: it alone knows the API key, makes a session for whoever asks, and gives away only `url` and `token`.
 * Look who asks before you do so: what is talked is paid by you.
 *
 *     PARLEY_URL=http://127.0.0.1:8080 PARLEY_KEY=svc_… PARLEY_PROJECT=… node server.mjs
 */
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

const { PARLEY_URL, PARLEY_KEY, PARLEY_PROJECT, PORT = '8095' } = process.env

async function openSession() {
  const response = await fetch(`${PARLEY_URL}/v1/public/realtime/session`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${PARLEY_KEY}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ project_id: PARLEY_PROJECT }),
  })
  const answer = await response.json()
  if (!response.ok) throw Object.assign(new Error(answer.detail), { status: response.status, code: answer.code })
  return { url: answer.url, token: answer.token }
}

const livekitClient = join(dirname(createRequire(import.meta.url).resolve('livekit-client')), 'livekit-client.esm.mjs')
const routes = {
  'GET /': async () => ['text/html; charset=utf-8', await readFile(new URL('browser.html', import.meta.url))],
  'GET /livekit-client.js': async () => ['text/javascript; charset=utf-8', await readFile(livekitClient)],
  'POST /session': async () => ['application/json', JSON.stringify(await openSession())],
}

const server = createServer(async (request, response) => {
  const route = routes[`${request.method} ${request.url}`]
  if (!route) return response.writeHead(404).end()
  try {
    const [type, body] = await route()
    response.writeHead(200, { 'Content-Type': type, 'Cache-Control': 'no-store' }).end(body)
  } catch (error) {
    response.writeHead(error.status ?? 502, { 'Content-Type': 'application/json' })
    response.end(JSON.stringify({ code: error.code ?? 'unreachable', detail: error.message }))
  }
})
server.listen(Number(PORT), '127.0.0.1', () => process.stdout.write(`http://127.0.0.1:${server.address().port}\n`))
