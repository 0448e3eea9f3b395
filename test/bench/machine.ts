/** The machine of a run, as far as it explains the figures; nothing that identifies it. */
import { execFileSync } from 'node:child_process'
import { availableParallelism, cpus, release, totalmem } from 'node:os'

export interface Machine {
  processor: string
  cores: number
  memoryGb: number
  kernel: string
  node: string
  commit: string
}

export function machine(): Machine {
  return {
    processor: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memoryGb: Math.round(totalmem() / 2 ** 30),
    kernel: release(),
    node: process.version,
    commit: commit(),
  }
}

/** Commit of the tree that ran, with a plus for uncommitted changes. */
function commit(): string {
  const git = (...args: string[]) =>
    execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  try {
    return git('rev-parse', '--short', 'HEAD') + (git('status', '--porcelain', '-uno') ? '+' : '')
  } catch {
    return 'unknown'
  }
}
