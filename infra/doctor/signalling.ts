/** Findings about the SIP server. Connects as an application does, takes no calls and disconnects. */
import { randomUUID } from 'node:crypto'
import { connect } from 'node:net'
import type { EgressRefusal } from '../../media/shared/egress.ts'
import { isEmbedded } from '../../sip/server/version.ts'
import { encodeFrame, FrameDecoder } from '../../sip/server/wire.ts'
import { bareHost, isLoopback } from '../config/hosts.ts'
import { judgeRefusals } from './addresses.ts'
import { ANSWER_MS, about, type Finding, failureOf, inTime } from './finding.ts'

const say = about('SIP server')
/** Bytes; longer than any answer to `authenticate`. */
const LONGEST = 64 * 1024

export type Greeting =
  | { accepted: true; addresses: string[]; version: string | null; refusals?: EgressRefusal[] }
  | { accepted: false }

export async function examineSignalling(where: { host: string; port: number; secret: string }): Promise<Finding[]> {
  const place = `${where.host}:${where.port}`
  try {
    const greeting = await inTime(greet(where))
    const refusals = greeting.accepted ? (greeting.refusals ?? []) : []
    return [...judgeSignalling(place, greeting), ...judgeRefusals(refusals, Date.now())]
  } catch (error) {
    const todo = 'Start the SIP server, or correct DRACHTIO_HOST and DRACHTIO_PORT. Without it there are no SIP calls.'
    return [say.error(`${place}: ${failureOf(error)}.`, todo)]
  }
}

export function judgeSignalling(place: string, greeting: Greeting): Finding[] {
  if (!greeting.accepted) {
    const todo = 'Set DRACHTIO_SECRET of the engines to the secret that the SIP server was started with.'
    return [say.error(`${place} rejects DRACHTIO_SECRET.`, todo)]
  }
  const { addresses, version } = greeting
  const named = version === null ? '' : ` (${version})`
  if (addresses.length === 0) {
    return [
      say.error(`${place} answers${named}, but has no SIP listener.`, 'Configure an address (--contact, --listen).'),
    ]
  }
  // Each address has the form `udp/192.0.2.1:5060`.
  const local = addresses.every(address => isLoopback(hostOf(address)))
  const listening = `${place} answers${named} and accepts our secret; SIP on ${addresses.join(', ')}`
  return [say.ok(`${listening}${local ? ', reachable only from this machine' : ''}.`)]
}

const hostOf = (address: string): string => bareHost(address.replace(/^\w+\//, '').replace(/:\d+$/, ''))

function greet({ host, port, secret }: { host: string; port: number; secret: string }): Promise<Greeting> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, timeout: ANSWER_MS })
    const decoder = new FrameDecoder(LONGEST)
    const [id, asked] = [randomUUID(), randomUUID()]
    let greeting: Greeting = { accepted: false }
    const finish = (found: Greeting): void => {
      resolve(found)
      socket.destroy()
    }
    const answered = (to: string | undefined, answer: string[]): void => {
      if (to === id) greeting = read(answer)
      if (to === id && knowsRefusals(greeting)) socket.write(encodeFrame(asked, 'refusals'))
      else if (to === id) finish(greeting)
      else if (to === asked)
        finish({ ...greeting, ...(answer[0] === 'OK' ? { refusals: JSON.parse(answer[1]!) } : {}) })
    }
    socket.once('connect', () => socket.write(encodeFrame(id, `authenticate|${secret}|`)))
    socket.on('data', chunk => {
      try {
        for (const frame of decoder.push(chunk)) {
          const [, type, to, ...answer] = frame.toString('latin1').split('|')
          if (type === 'response') answered(to, answer)
        }
      } catch {
        reject(Object.assign(new Error('not its protocol'), { code: 'NOT_OUR_PROTOCOL' }))
        socket.destroy()
      }
    })
    socket.once('timeout', () => socket.destroy(Object.assign(new Error('silent'), { code: 'ETIMEDOUT' })))
    socket.once('error', reject)
    socket.once('close', () => reject(Object.assign(new Error('closed'), { code: 'ECONNRESET' })))
  })
}

/** A drachtio-server does not know the request for refusals. */
const knowsRefusals = (greeting: Greeting): boolean => greeting.accepted && isEmbedded(greeting.version ?? '')

/** Older servers send no version. */
function read([status, hostports = '', version]: string[]): Greeting {
  if (status !== 'OK') return { accepted: false }
  return { accepted: true, addresses: hostports.split(',').filter(Boolean), version: version || null }
}
