/** Thread priority on a busy machine. */
import { setPriority } from 'node:os'
import type { Log } from '../../media/shared/log.ts'

/** Above normal, but below PRIORITY_HIGH of `node:os`. */
const NICE = -10

/**
 * Raises the priority of the calling thread. An engine's main thread paces the audio of all its calls and would
 * otherwise wait behind WebRTC's encoders, threads of the same process that may be late. On Linux a nice value belongs
 * to a thread, and existing threads keep theirs. Without the permission nothing changes.
 */
export function goFirst(log: Log): void {
  try {
    setPriority(process.pid, NICE)
  } catch (error) {
    log.debug({ err: error }, 'raising priority of the media thread failed')
  }
}
