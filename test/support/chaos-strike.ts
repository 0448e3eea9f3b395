/** Strikes the processes of a stack on schedule, and waits until all are running again. */
import { readFileSync } from 'node:fs'
import type { Child } from '../../infra/embedded/child.ts'
import type { Blow, Victim } from './chaos-plan.ts'
import type { OwnServers } from './own-servers.ts'
import { descendantsOf, signalEach } from './processes.ts'
import type { Stack } from './stack.ts'
import { until } from './world.ts'

export type Victims = Record<Victim, Child>

export function victimsOf(stack: Stack, servers: OwnServers): Victims {
  const { sipServer, speech, engines, controls } = stack.children
  return {
    Engine: engines[0]!,
    'Engine 2': engines[1]!,
    Control: controls[0]!,
    'Control 2': controls[1]!,
    'SIP server': sipServer,
    Speech: speech,
    Redis: servers.redis,
    Postgres: servers.postgres,
  }
}

/** True when the process runs as our child: its PID may have been reused. */
export function isAlive(pid: number): boolean {
  try {
    const [state, parent] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)!.split(' ')
    return Number(parent) === process.pid && state !== 'Z'
  } catch {
    return false
  }
}

/** Processes that are stopped and not yet continued. */
const frozen = new Set<{ thaw(): void }>()

function freeze(pid: number): { thaw(): void } {
  const pids = [pid, ...descendantsOf(pid)]
  signalEach(pids, 'SIGSTOP')
  const one = {
    thaw() {
      frozen.delete(one)
      // A process started during the strike is stopped with its parent, but not in the list.
      if (isAlive(pid)) signalEach([...pids, ...descendantsOf(pid)], 'SIGCONT')
      else signalEach(pids, 'SIGCONT')
    },
  }
  frozen.add(one)
  return one
}

/** Postgres waits for its clients on SIGTERM, but not on SIGINT. */
const politely = (victim: Victim): NodeJS.Signals => (victim === 'Postgres' ? 'SIGINT' : 'SIGTERM')

/** Resolves when the last strike is done and all frozen processes continue. Reports each strike. */
export async function strike(victims: Victims, blows: readonly Blow[], report: (blow: Blow, how: string) => void) {
  const startedMs = performance.now()
  const thaws: Promise<void>[] = []
  for (const blow of blows) {
    await pause(startedMs + blow.atMs - performance.now())
    const { pid } = victims[blow.victim]
    if (!isAlive(pid)) {
      report(blow, 'was already down')
      continue
    }
    report(blow, `process ${pid}`)
    if (blow.kind === 'freeze') {
      const { thaw } = freeze(pid)
      thaws.push(pause(blow.forMs).then(thaw))
    } else process.kill(pid, blow.kind === 'kill' ? 'SIGKILL' : politely(blow.victim))
  }
  await Promise.all(thaws)
}

export const thawAll = () => {
  for (const one of [...frozen]) one.thaw()
}

/** True when every process runs and serves, as a supervisor and a load balancer would check. */
export async function allBack(stack: Stack, victims: Victims): Promise<void> {
  for (const [name, child] of Object.entries(victims))
    await until(() => isAlive(child.pid), `${name} to be back`, 30_000)
  for (const { title, port } of stack.controls) {
    const ready = () =>
      fetch(`http://127.0.0.1:${port}/readyz`, { signal: AbortSignal.timeout(3000) }).then(
        answer => answer.ok,
        () => false,
      )
    await until(ready, `${title} to be ready`, 30_000)
  }
  const takes = async () => {
    const beats = await stack.parts.bus.engines()
    return stack.engines.every(({ name }) => beats.some(beat => beat.engine === name && beat.capacity > 0))
  }
  await until(takes, 'both engines to take calls', 30_000)
}

const pause = (ms: number) => new Promise<void>(resolve => setTimeout(resolve, Math.max(0, ms)))
