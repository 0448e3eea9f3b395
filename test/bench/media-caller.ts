/** Places calls with audio (`sip-peers media`): one process, one socket per call, each packet at its own time. */
import { nextLine, type Peer, startPeer } from './sip-peers.ts'

/** Calls over SIP, or packets to bare echoes at these ports. */
export type Calls =
  | { target: string; to: string; calls: number; rate: number; talk: boolean }
  | { ports: readonly number[] }

/** Measurements over all calls between two moments. */
export interface WindowReport {
  sent: number
  received: number
  /** Marked packets: never returned; returned more than 60 ms later. */
  lost: number
  late: number
  /** The other side's packets: missing sequence numbers; gaps of more than 40 ms. */
  holes: number
  gaps: number
  /** Lateness of the caller's own packets. */
  own_late_p99_ms: number
  own_late_max_ms: number
  /** Between two packets of the other side. */
  between_std_ms: number
  between_p99_ms: number
  /** Wire to wire, from marked packets. */
  ear_p50_ms: number
  ear_p95_ms: number
  /** From each caller's last voiced packet to the first of the answer. */
  turn_ms: number[]
  /** Turns answered before they ended, or not within six seconds. */
  interrupted: number
  unheard: number
}

export interface MediaCaller {
  pid: number
  /** Files of raw µ-law in whole frames: the callers' clips and their room noise. */
  sound(sound: { clips: string[]; room: string }): Promise<void>
  open(calls: Calls): Promise<{ open: number; failed: Record<string, number> }>
  begin(): Promise<void>
  end(): Promise<WindowReport>
  close(): Promise<void>
  stop(): void
}

export async function startMediaCaller(cache: string): Promise<MediaCaller> {
  const peer: Peer = await startPeer(cache, 'media')
  const ask = async <T>(order: object): Promise<T> => {
    peer.child.stdin!.write(`${JSON.stringify(order)}\n`)
    const answer: T & { error?: string } = JSON.parse(await nextLine(peer))
    if (answer.error) throw new Error(answer.error)
    return answer
  }
  return {
    pid: peer.child.pid!,
    sound: sound => ask({ do: 'sound', ...sound }),
    open: calls => ask({ do: 'open', ...calls }),
    begin: () => ask({ do: 'begin' }),
    end: () => ask({ do: 'end' }),
    close: () => ask({ do: 'close' }),
    stop: () => void peer.child.kill(),
  }
}
