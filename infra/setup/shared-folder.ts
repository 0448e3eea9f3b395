/**
 * What several processes share (downloads, builds, copies of programs, data folders) is made once: under a lock, in a
 * draft beside its place, and moved there whole by a rename. Nobody sees half of it, and nothing that is in use is removed.
 */
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { startOf, takeLock, type Wait } from './lock.mjs'
import type { ProgressReporter } from './prepare.ts'

export interface MakeOnce {
  /** For people who wait: "the speech models". */
  name: string
  /** Writes a file or a folder at this path, which does not exist yet. What it leaves there when it throws is removed. */
  make(draft: string): Promise<void> | void
  /** False also for a target that exists but cannot be used; it is then replaced. Default: the target exists. */
  isReady?: (() => boolean) | undefined
  reporter?: ProgressReporter | undefined
  /** Ends the wait for another process; the maker looks at it itself. */
  signal?: AbortSignal | undefined
}

/**
 * Resolves when the target is there, made by us or by another process. Throws what `make` throws; those who waited then
 * try for themselves.
 */
export async function makeOnce(target: string, options: MakeOnce): Promise<void> {
  const isReady = options.isReady ?? (() => existsSync(target))
  if (isReady()) return
  mkdirSync(dirname(target), { recursive: true })
  const release = await takeTurn(`${target}.lock`, options)
  const draft = `${target}.${process.pid}.draft`
  try {
    if (isReady()) return
    removeDrafts(target)
    await options.make(draft)
    publish(draft, target, isReady)
  } finally {
    rmSync(draft, { recursive: true, force: true })
    release()
  }
}

const REMIND_MS = 30_000

/** `takeLock` with words in the terminal for who waits. */
export async function takeTurn(
  file: string,
  { name, reporter, signal }: Pick<MakeOnce, 'name' | 'reporter' | 'signal'>,
): Promise<() => void> {
  let done: (() => void) | undefined
  let reminders = 0
  const onWait = ({ pid, heldMs, waitedMs }: Wait) => {
    done ??= reporter?.step(`Waiting for ${name}: process ${pid} has been at it for ${Math.round(heldMs / 1000)} s`)
    if (waitedMs < (reminders + 1) * REMIND_MS) return
    reminders++
    reporter?.say(`Still waiting for ${name}, made by process ${pid}: ${Math.round(waitedMs / 1000)} s so far`)
  }
  try {
    return await takeLock(file, { onWait, signal })
  } finally {
    done?.()
  }
}

function publish(draft: string, target: string, isReady: () => boolean): void {
  try {
    renameSync(draft, target)
  } catch (error) {
    if (!['ENOTEMPTY', 'EEXIST', 'ENOTDIR', 'EISDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
    if (isReady()) return
    // Nobody can use it as it is. Moved first: at no moment is there half of either.
    const aside = `${target}.${process.pid}.aside.draft`
    renameSync(target, aside)
    renameSync(draft, target)
    rmSync(aside, { recursive: true, force: true })
  }
}

/** Those of makers that were killed. */
function removeDrafts(target: string): void {
  const [folder, name] = [dirname(target), basename(target)]
  for (const entry of readdirSync(folder)) {
    const pid = /^\.(\d+)(?:\.aside)?\.draft$/.exec(entry.startsWith(name) ? entry.slice(name.length) : '')?.[1]
    if (pid !== undefined && startOf(Number(pid)) === '') rmSync(join(folder, entry), { recursive: true, force: true })
  }
}
