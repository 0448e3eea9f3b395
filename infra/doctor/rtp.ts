/** Findings about RTP: whether its ports can be bound, and whether carriers can reach its address. */
import { createSocket } from 'node:dgram'
import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { isPublic } from '../../media/shared/addresses.ts'
import { isLoopback, isWildcard } from '../config/hosts.ts'
import { about, type Finding, many } from './finding.ts'

const say = about('RTP')
/** Number of ports to test: a sample, because all at once would disturb calls. */
const TRIED = 50

export interface RtpFound {
  host: string
  publicHost: string | null
  min: number
  max: number
  capacity: number
  /** Number of tested ports that could be bound, and the error codes of the others. */
  free: number
  refused: Record<string, number>
  /** The kernel's ephemeral port range; null when unknown. */
  handedOut: { from: number; to: number } | null
  /** True when customers reach this installation over the internet. */
  isOpen: boolean
}

export type SoundOptions = Omit<RtpFound, 'free' | 'refused' | 'handedOut'>

export async function examineRtp(options: SoundOptions): Promise<Finding[]> {
  if (options.max === 0)
    return [
      say.warning(
        'RTP ports are chosen by the system (RTP_PORT_MAX=0), so a firewall cannot allow them.',
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
  return judgeRtp({ ...options, free, refused, handedOut: readHandedOut() })
}

export function judgeRtp(found: RtpFound): Finding[] {
  const { host, min, max, capacity, free, refused } = found
  const range = `${min}–${max}`
  if ((refused['EADDRNOTAVAIL'] ?? 0) > 0 || (refused['ENOTFOUND'] ?? 0) > 0) {
    const todo =
      'Set RTP_HOST (or SIP_HOST) to an address of this machine, and RTP_PUBLIC_HOST to the NAT’s public address.'
    return [say.error(`${host} is not an address of this machine.`, todo)]
  }
  const findings: Finding[] = []
  if ((refused['EACCES'] ?? 0) > 0) {
    findings.push(say.error(`Permission denied for ports ${range}.`, 'Set RTP_PORT_MIN to 1024 or more.'))
  } else if (free === 0) {
    findings.push(
      say.error(`All tested ports of ${range} are in use.`, 'Choose another range with RTP_PORT_MIN and RTP_PORT_MAX.'),
    )
  } else if ((refused['EADDRINUSE'] ?? 0) > free) {
    const todo = 'If these are not calls of this engine, find the program that uses them, or choose another range.'
    findings.push(say.warning(`More than half of the ports ${range} are in use.`, todo))
  }
  const calls = Math.floor((max - min + 1) / 2)
  if (calls < capacity) {
    const text = `Ports ${range} suffice for ${many(calls, 'call')}, but ENGINE_CAPACITY is ${capacity}.`
    findings.push(
      say.warning(
        text,
        'Widen the range (and the firewall), or lower ENGINE_CAPACITY. A transfer uses a second pair of ports.',
      ),
    )
  }
  findings.push(...judgeRange(found), ...judgeAddress(found))
  if (findings.some(({ status }) => status === 'error')) return findings
  return [say.ok(`Ports ${range} are available on ${host}, enough for ${calls} calls.`), ...findings]
}

function judgeRange({ min, max, handedOut }: RtpFound): Finding[] {
  if (handedOut === null || handedOut.from > max || handedOut.to < min) return []
  const text = `The RTP range overlaps the kernel’s ephemeral ports ${handedOut.from}–${handedOut.to}.`
  return [say.warning(text, 'Choose a range outside it, or set net.ipv4.ip_local_reserved_ports.')]
}

function judgeAddress({ host, publicHost, isOpen }: RtpFound): Finding[] {
  if (publicHost !== null) {
    if (isPublic(publicHost)) return []
    const text = `RTP_PUBLIC_HOST ${publicHost} is not a public address.`
    return [say.error(text, 'Set it to the NAT’s public address, or remove it.')]
  }
  if (!isOpen || isWildcard(host)) return []
  if (isLoopback(host)) {
    const text = `RTP is received at ${host}: phones on other machines will have no audio.`
    return [say.warning(text, 'Set SIP_HOST and RTP_HOST to the address of this machine.')]
  }
  if (isIP(host) === 0 || isPublic(host)) return []
  const text = `Carriers on the internet are asked to send RTP to ${host}, which they cannot reach.`
  return [say.warning(text, 'Set RTP_PUBLIC_HOST to the NAT’s public address, which must map ports one to one.')]
}

/** Tries to bind a port. Returns the error code, or null when it could be bound; releases it again. */
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

function readHandedOut(): RtpFound['handedOut'] {
  try {
    const [from, to] = readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8').trim().split(/\s+/).map(Number)
    return from && to ? { from, to } : null
  } catch {
    return null
  }
}
