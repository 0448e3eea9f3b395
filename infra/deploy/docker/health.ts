/**
 * Checks the health of a program in a container, with the result as exit status; the images have no other HTTP client.
 *   health.ts http://HOST:PORT/PATH [METRIC=VALUE]   expects a 2xx response that shows the metric with that value
 *   health.ts tcp://HOST:PORT                        expects an open port
 */
import { connect } from 'node:net'

const ANSWER_MS = 4000

async function overHttp(url: URL, metric: string | undefined): Promise<string | null> {
  const response = await fetch(url, { signal: AbortSignal.timeout(ANSWER_MS), redirect: 'manual' })
  const page = await response.text()
  if (!response.ok) return `${url.href} answered ${response.status}`
  if (metric === undefined) return null
  const wanted = metric.replace('=', ' ')
  return page.split('\n').includes(wanted) ? null : `${url.href} does not show ${wanted}`
}

function overTcp({ hostname, port }: URL): Promise<string | null> {
  return new Promise(resolve => {
    const socket = connect({ host: hostname.replace(/^\[|\]$/g, ''), port: Number(port), timeout: ANSWER_MS })
    const end = (problem: string | null) => {
      socket.destroy()
      resolve(problem)
    }
    socket.once('connect', () => end(null))
    socket.once('timeout', () => end('connection timed out'))
    socket.once('error', error => end(error.message))
  })
}

async function check(address: string, metric: string | undefined): Promise<string | null> {
  const url = new URL(address)
  return url.protocol === 'tcp:' ? overTcp(url) : overHttp(url, metric)
}

const [address, metric] = process.argv.slice(2)
if (address === undefined) {
  console.error('usage: health.ts http://HOST:PORT/PATH [METRIC=VALUE] | tcp://HOST:PORT')
  process.exit(2)
}
const problem = await check(address, metric).catch((error: Error) => error.message)
if (problem !== null) console.error(problem)
process.exit(problem === null ? 0 : 1)
