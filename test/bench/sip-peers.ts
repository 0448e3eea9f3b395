/** The Go ends of the signalling's benchmark, `sip-peers/`: who calls, and an application on emiago/diago to compare with. */
import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface, type Interface } from 'node:readline'
import { ensureBuilt } from './go.ts'

/** One call in each slot of a second's `rate`th part, at a random time within it; a BYE `hold_ms` after the ACK. */
export interface Round {
  /** `host:port` of whom is called. */
  target: string
  to: string
  rate: number
  calls: number
  hold_ms: number
  /** Whether requests without an answer are repeated as RFC 3261 has it; otherwise what is lost has failed. */
  resend?: boolean
}

/** Milliseconds from the INVITE of each call that went as it should; of the others, how many for which reason. */
export interface RoundReport {
  ringing_ms: number[]
  answered_ms: number[]
  /** How long after their time the INVITEs left: the caller's own fault. */
  late_ms: number[]
  /** 200s that came again. */
  repeats: number
  /** Calls whose INVITE was sent more than once. */
  resent: number
  failed: Record<string, number>
}

export interface SipCaller {
  /** One round at a time; its answer comes when the last call is over. */
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
  // The caller goes before who is measured, as one on a machine of its own would: late, it measures itself.
  const command = task === 'call' ? ['nice', '-n', '-10', program] : [program]
  const child = spawn(command[0]!, [...command.slice(1), task], { stdio: ['pipe', 'pipe', 'inherit'] })
  return { child, lines: createInterface(child.stdout) }
}

export function nextLine({ child, lines }: Peer): Promise<string> {
  return new Promise((resolve, reject) => {
    const over = () => reject(new Error('the SIP peer has ended'))
    child.once('exit', over)
    lines.once('line', line => {
      child.off('exit', over)
      resolve(line)
    })
  })
}
