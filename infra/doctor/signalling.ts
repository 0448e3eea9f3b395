/** Findings about the SIP server. Connects as an application does, takes no calls and disconnects. */
import { randomUUID } from 'node:crypto'
import { connect } from 'node:net'
import { encodeFrame, FrameDecoder } from '../../sip/server/wire.ts'
import { bareHost, isLoopback } from '../config/hosts.ts'
import { ANSWER_MS, about, type Finding, failureOf, inTime } from './finding.ts'

const say = about('SIP server')
/** Bytes; longer than any answer to `authenticate`. */
const LONGEST = 64 * 1024

export type Greeting = { accepted: true; addresses: string[]; version: string | null } | { accepted: false }

export async function examineSignalling(where: { host: string; port: number; secret: string }): Promise<Finding[]> {
  const place = `${where.host}:${where.port}`
  try {
    return judgeSignalling(place, await inTime(greet(where)))
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
    const id = randomUUID()
    socket.once('connect', () => socket.write(encodeFrame(id, `authenticate|${secret}|`)))
    socket.on('data', chunk => {
      try {
        const answer = decoder
          .push(chunk)
          .map(frame => frame.toString('latin1').split('|'))
          .find(([, type, to]) => type === 'response' && to === id)
        if (!answer) return
        resolve(read(answer.slice(3)))
        socket.destroy()
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

/** Older servers send no version. */
function read([status, hostports = '', version]: string[]): Greeting {
  if (status !== 'OK') return { accepted: false }
  return { accepted: true, addresses: hostports.split(',').filter(Boolean), version: version || null }
}
