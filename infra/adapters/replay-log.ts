/**
 * Records what crosses the edges of each call, for `npm run replay`. Off unless a directory is configured: the files
 * contain everything both sides said, and only the operator deletes them.
 */
import { createWriteStream, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { ReplayLog } from '../../media/call/call.ts'
import type { Log } from '../../media/shared/log.ts'

export function createReplayLog(folder: string, log: Log): ReplayLog {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  return {
    open(callId) {
      const file = createWriteStream(join(folder, `${callId}.jsonl`), { mode: 0o600 })
      file.on('error', error => log.error({ err: error }, 'writing edge log failed'))
      return {
        // A request may be answered after the call has ended.
        write: line => void (file.writable && file.write(`${line}\n`)),
        close: () => file.end(),
      }
    },
  }
}
