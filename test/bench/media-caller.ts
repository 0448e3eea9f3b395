/** Who places the calls with sound, `sip-peers media`: one process, a socket a call, each packet at a time of its own. */
import { nextLine, type Peer, startPeer } from './sip-peers.ts'

/** Calls over SIP, or packets to bare echoes at these ports. */
export type Calls =
  | { target: string; to: string; calls: number; rate: number; talk: boolean }
  | { ports: readonly number[] }

/** What happened on all calls between two moments. */
export interface WindowReport {
  sent: number
  received: number
  /** Of packets with marks: never came back; came back more than 60 ms later. */
  lost: number
  late: number
  /** Of the other side's packets: missing numbers; more than 40 ms between two. */
  holes: number
  gaps: number
  /** How long after their time the caller's own packets left. */
  own_late_p99_ms: number
  own_late_max_ms: number
  /** Between two packets of the other side's. */
  between_std_ms: number
  between_p99_ms: number
  /** From the wire to the wire, of packets with marks. */
  ear_p50_ms: number
  ear_p95_ms: number
  /** From each caller's last voiced packet to the answer's first. */
  turn_ms: number[]
  /** Turns that were answered before they were over, or not within six seconds. */
  interrupted: number
  unheard: number
}

export interface MediaCaller {
  readonly pid: number
  /** Files of raw µ-law, whole frames: what callers who talk say, and the room around them. */
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
