/**
 * Files shared by several processes (downloads, builds, copies of programs, data directories) are made once: under a
 * lock, as a draft next to the target, published by a rename. Nobody sees an incomplete one, and nothing in use is
 * removed.
 */
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { startOf, takeLock, type Wait } from './lock.mjs'
import type { ProgressReporter } from './prepare.ts'

export interface MakeOnce {
  /** Shown to people who wait: "the speech models". */
  name: string
  /** Creates a file or a directory at this path, which does not exist yet. A draft is removed when this throws. */
  make(draft: string): Promise<void> | void
  /** False also for an existing target that is unusable, which is then replaced. By default: the target exists. */
  isReady?: (() => boolean) | undefined
  reporter?: ProgressReporter | undefined
  /** Aborts the wait for another process; `make` has to check it itself. */
  signal?: AbortSignal | undefined
}

/**
 * Resolves when the target exists, made by us or by another process. Throws what `make` throws; waiting processes then
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

/** Like `takeLock`, with messages in the terminal while waiting. */
export async function takeTurn(
  file: string,
  { name, reporter, signal }: Pick<MakeOnce, 'name' | 'reporter' | 'signal'>,
): Promise<() => void> {
  let done: (() => void) | undefined
  let reminders = 0
  const onWait = ({ pid, heldMs, waitedMs }: Wait) => {
    done ??= reporter?.step(`Waiting for ${name}, in progress in process ${pid} for ${Math.round(heldMs / 1000)} s`)
    if (waitedMs < (reminders + 1) * REMIND_MS) return
    reminders++
    reporter?.say(`Still waiting for ${name} (process ${pid}, ${Math.round(waitedMs / 1000)} s)`)
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
    // The old target is unusable. Moved aside first, so that an incomplete one is never visible.
    const aside = `${target}.${process.pid}.aside.draft`
    renameSync(target, aside)
    renameSync(draft, target)
    rmSync(aside, { recursive: true, force: true })
  }
}

/** Removes drafts of killed processes. */
function removeDrafts(target: string): void {
  const [folder, name] = [dirname(target), basename(target)]
  for (const entry of readdirSync(folder)) {
    const pid = /^\.(\d+)(?:\.aside)?\.draft$/.exec(entry.startsWith(name) ? entry.slice(name.length) : '')?.[1]
    if (pid !== undefined && startOf(Number(pid)) === '') rmSync(join(folder, entry), { recursive: true, force: true })
  }
}
