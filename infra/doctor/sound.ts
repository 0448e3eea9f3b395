/** Where the sound of calls comes in: ports that can be bound, and an address that carriers can send to. */
import { createSocket } from 'node:dgram'
import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { isPublic } from '../../media/shared/addresses.ts'
import { isLoopback, isWildcard } from '../config/hosts.ts'
import { about, type Finding, many } from './finding.ts'

const say = about('Sound')
/** Enough to tell; all of them at once would be in the way of calls. */
const TRIED = 50

export interface SoundFound {
  host: string
  publicHost: string | null
  min: number
  max: number
  capacity: number
  /** How many of the ports that were tried could be bound, and why others could not, by code. */
  free: number
  refused: Record<string, number>
  /** Which ports the kernel hands out to anybody; null: not known. */
  handedOut: { from: number; to: number } | null
  /** Customers reach this installation over the internet. */
  isOpen: boolean
}

export type SoundOptions = Omit<SoundFound, 'free' | 'refused' | 'handedOut'>

export async function examineSound(options: SoundOptions): Promise<Finding[]> {
  if (options.max === 0)
    return [
      say.warn(
        'The system chooses the ports (RTP_PORT_MAX=0): no firewall can know them.',
        'Set RTP_PORT_MIN and RTP_PORT_MAX.',
      ),
    ]
  const step = Math.max(1, Math.floor((options.max - options.min + 1) / TRIED))
  const refused: Record<string, number> = {}
  let free = 0
  for (let port = options.min; port <= options.max; port += step) {
    const code = await tryPort(port, options.host)
    if (code === null) free++
    else refused[code] = (refused[code] ?? 0) + 1
  }
  return judgeSound({ ...options, free, refused, handedOut: readHandedOut() })
}

export function judgeSound(found: SoundFound): Finding[] {
  const { host, min, max, capacity, free, refused } = found
  const range = `${min}–${max}`
  if ((refused['EADDRNOTAVAIL'] ?? 0) > 0 || (refused['ENOTFOUND'] ?? 0) > 0) {
    const todo =
      'Set RTP_HOST (or SIP_HOST) to an address of this machine; what a NAT gives it belongs in RTP_PUBLIC_HOST.'
    return [say.bad(`${host} is no address of this machine.`, todo)]
  }
  const findings: Finding[] = []
  if ((refused['EACCES'] ?? 0) > 0) {
    findings.push(say.bad(`This user may not use ports ${range}.`, 'Set RTP_PORT_MIN to 1024 or more.'))
  } else if (free === 0) {
    findings.push(
      say.bad(`All ports ${range} that were tried are taken.`, 'Set RTP_PORT_MIN and RTP_PORT_MAX elsewhere.'),
    )
  } else if ((refused['EADDRINUSE'] ?? 0) > free) {
    const todo = 'If that is not calls of this engine, find who has them, or set the range elsewhere.'
    findings.push(say.warn(`More than half of the ports ${range} are taken.`, todo))
  }
  const calls = Math.floor((max - min + 1) / 2)
  if (calls < capacity) {
    const text = `Ports ${range} are enough for ${many(calls, 'call')}, and the engine takes ${capacity}.`
    findings.push(
      say.warn(text, 'Widen the range (and the firewall), or lower ENGINE_CAPACITY; a transfer takes a second pair.'),
    )
  }
  findings.push(...judgeRange(found), ...judgeAddress(found))
  if (findings.some(({ verdict }) => verdict === 'bad')) return findings
  return [say.ok(`Ports ${range} can be used on ${host}, for ${calls} calls.`), ...findings]
}

function judgeRange({ min, max, handedOut }: SoundFound): Finding[] {
  if (handedOut === null || handedOut.from > max || handedOut.to < min) return []
  const text = `The kernel hands out ports ${handedOut.from}–${handedOut.to} to anybody, some of ours among them.`
  return [say.warn(text, 'Choose a range outside of it, or set net.ipv4.ip_local_reserved_ports.')]
}

function judgeAddress({ host, publicHost, isOpen }: SoundFound): Finding[] {
  if (publicHost !== null) {
    if (isPublic(publicHost)) return []
    const text = `RTP_PUBLIC_HOST is ${publicHost}, which is no address of the internet.`
    return [say.bad(text, 'Set it to the address that the NAT gives this machine, or leave it out.')]
  }
  if (!isOpen || isWildcard(host)) return []
  if (isLoopback(host)) {
    const text = `Sound comes in at ${host}: telephones elsewhere will hear nothing and not be heard.`
    return [say.warn(text, 'Set SIP_HOST and RTP_HOST to the address of this machine.')]
  }
  if (isIP(host) === 0 || isPublic(host)) return []
  const text = `Carriers on the internet are told ${host}, to which they cannot send.`
  return [say.warn(text, 'Set RTP_PUBLIC_HOST to the address that the NAT gives this machine, port for port.')]
}

/** The code of why it cannot be bound; null: it can, and is free again. */
function tryPort(port: number, host: string): Promise<string | null> {
  const socket = createSocket(isIP(host) === 6 ? 'udp6' : 'udp4')
  return new Promise(resolve => {
    socket.once('error', (error: NodeJS.ErrnoException) => {
      socket.close()
      resolve(error.code ?? 'unknown')
    })
    socket.bind({ port, address: host, exclusive: true }, () => socket.close(() => resolve(null)))
  })
}

function readHandedOut(): SoundFound['handedOut'] {
  try {
    const [from, to] = readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8').trim().split(/\s+/).map(Number)
    return from && to ? { from, to } : null
  } catch {
    return null
  }
}
