/**
 * Stores events that wait for Redis, one per line, in a file of this process that is deleted once all are sent. The
 * events contain transcripts, so only this user may read the file.
 */
import { appendFile, mkdir, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { EventOutbox } from '../../media/ports/event-outbox.ts'
import type { Log } from '../../media/shared/log.ts'
import { inOrder } from './in-order.ts'

const ENDING = '.ndjson'

/** `folder` belongs to one engine name, which one process uses at a time. */
export function openEventOutbox(folder: string, startedMs: number, log: Log): EventOutbox {
  const name = `${String(startedMs).padStart(15, '0')}-${process.pid}${ENDING}`
  const file = join(folder, name)
  const next = inOrder(log, 'writing event outbox failed')
  return {
    append: events =>
      next(async () => {
        await mkdir(folder, { recursive: true, mode: 0o700 })
        await appendFile(file, events.map(event => `${event}\n`).join(''), { mode: 0o600 })
      }),
    clear: () => next(() => rm(file, { force: true })),
    async pending() {
      const all = await readdir(folder).catch(() => [])
      const names = all.filter(one => one.endsWith(ENDING) && one !== name).sort()
      const texts = await Promise.all(names.map(one => readFile(join(folder, one), 'utf8')))
      return {
        events: texts.flatMap(wholeLines),
        acknowledge: async () => {
          for (const one of names) await rm(join(folder, one), { force: true })
        },
      }
    },
  }
}

/** The last line may be incomplete, when its process was killed while writing. */
const wholeLines = (text: string) => text.split('\n').slice(0, -1)
