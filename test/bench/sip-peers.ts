/**
 * The Go peers of the signalling benchmark, `sip-peers/`: a caller, and an application on emiago/diago for comparison.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface, type Interface } from 'node:readline'
import { ensureBuilt } from './go.ts'

/** One call in each 1/`rate` of a second, at a random time within it; a BYE `hold_ms` after the ACK. */
export interface Round {
  /** `host:port` to call. */
  target: string
  to: string
  rate: number
  calls: number
  hold_ms: number
  /** True when unanswered requests are retransmitted per RFC 3261; otherwise a lost one counts as failed. */
  resend?: boolean
}

/** Milliseconds from the INVITE for successful calls; counts by reason for the others. */
export interface RoundReport {
  ringing_ms: number[]
  answered_ms: number[]
  /** Lateness of the INVITEs, which is the caller's own fault. */
  late_ms: number[]
  /** Retransmitted 200s. */
  repeats: number
  /** Calls whose INVITE was retransmitted. */
  resent: number
  failed: Record<string, number>
}

export interface SipCaller {
  /** One round at a time; resolves when the last call has ended. */
  place(round: Round): Promise<RoundReport>
  stop(): void
}

export async function startSipCaller(cache: string): Promise<SipCaller> {
  const { child, lines } = await startPeer(cache, 'call')
  return {
    async place(round) {
      child.stdin!.write(`${JSON.stringify(round)}\n`)
      const report: RoundReport & { error?: string } = JSON.parse(await nextLine({ child, lines }))
      if (report.error) throw new Error(report.error)
      return report
    },
    stop: () => void child.kill(),
  }
}

export type DiagoTask = 'answer' | 'echo'

export async function startDiago(
  cache: string,
  task: DiagoTask = 'answer',
): Promise<{ pid: number; target: string; stop(): void }> {
  const { child, lines } = await startPeer(cache, task)
  const { port } = JSON.parse(await nextLine({ child, lines })) as { port: number }
  return { pid: child.pid!, target: `127.0.0.1:${port}`, stop: () => void child.kill() }
}

export interface Peer {
  child: ChildProcess
  lines: Interface
}

export async function startPeer(cache: string, task: DiagoTask | 'call' | 'media' | 'udp-echo'): Promise<Peer> {
  const program = await ensureBuilt(cache, 'sip-peers')
  // Runs the caller at a higher priority, as if on its own machine: when late, it would measure itself.
  const command = task === 'call' ? ['nice', '-n', '-10', program] : [program]
  const child = spawn(command[0]!, [...command.slice(1), task], { stdio: ['pipe', 'pipe', 'inherit'] })
  return { child, lines: createInterface(child.stdout) }
}

export function nextLine({ child, lines }: Peer): Promise<string> {
  return new Promise((resolve, reject) => {
    const over = () => reject(new Error('the SIP peer has exited'))
    child.once('exit', over)
    lines.once('line', line => {
      child.off('exit', over)
      resolve(line)
    })
  })
}
