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
}

/** Milliseconds from the INVITE of each call that went as it should; of the others, how many for which reason. */
export interface RoundReport {
  ringing_ms: number[]
  answered_ms: number[]
  /** How long after their time the INVITEs left: the caller's own fault. */
  late_ms: number[]
  /** 200s that came again. */
  repeats: number
  failed: Record<string, number>
}

export interface SipCaller {
  /** One round at a time; its answer comes when the last call is over. */
  place(round: Round): Promise<RoundReport>
  stop(): void
}

export async function startSipCaller(cache: string): Promise<SipCaller> {
  const { child, lines } = await start(cache, 'call')
  return {
    async place(round) {
      child.stdin!.write(`${JSON.stringify(round)}\n`)
      const report: RoundReport & { error?: string } = JSON.parse(await nextLine(child, lines))
      if (report.error) throw new Error(report.error)
      return report
    },
    stop: () => void child.kill(),
  }
}

export async function startDiago(cache: string): Promise<{ pid: number; target: string; stop(): void }> {
  const { child, lines } = await start(cache, 'answer')
  const { port } = JSON.parse(await nextLine(child, lines)) as { port: number }
  return { pid: child.pid!, target: `127.0.0.1:${port}`, stop: () => void child.kill() }
}

async function start(cache: string, task: 'call' | 'answer'): Promise<{ child: ChildProcess; lines: Interface }> {
  const child = spawn(await ensureBuilt(cache, 'sip-peers'), [task], { stdio: ['pipe', 'pipe', 'inherit'] })
  return { child, lines: createInterface(child.stdout) }
}

function nextLine(child: ChildProcess, lines: Interface): Promise<string> {
  return new Promise((resolve, reject) => {
    const over = () => reject(new Error('the SIP peer has ended'))
    child.once('exit', over)
    lines.once('line', line => {
      child.off('exit', over)
      resolve(line)
    })
  })
}
