export interface Wait {
  /** The owner of the lock. */
  pid: number
  /** Milliseconds that the owner has held the lock. */
  heldMs: number
  /** Milliseconds that we have waited. */
  waitedMs: number
}

export interface LockOptions {
  onWait?: ((wait: Wait) => void) | undefined
  signal?: AbortSignal | undefined
}

/** Throws the signal's reason when it is aborted. */
export function takeLock(file: string, options?: LockOptions): Promise<() => void>

export interface ProcessMark {
  pid: number
  started: string
}

export function isRunning(mark: ProcessMark): boolean
export function startOf(pid: number): string
