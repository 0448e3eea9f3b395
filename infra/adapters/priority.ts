/** Whose turn it is on a busy machine. */
import { setPriority } from 'node:os'
import type { Log } from '../../media/shared/log.ts'

/** As PRIORITY_HIGH of `node:os`, but for less. */
const NICE = -10

/**
 * The thread that calls goes before others. An engine's paces the sound of all its calls, and would else wait behind the
 * encoders of WebRTC, which are threads of the same process and may be late. On Linux a nice value is a thread's own; those
 * that run already keep theirs. Not everybody may ask for it: then it stays as it is.
 */
export function goFirst(log: Log): void {
  try {
    setPriority(process.pid, NICE)
  } catch (error) {
    log.debug({ err: error }, 'no priority for the thread that paces sound')
  }
}
