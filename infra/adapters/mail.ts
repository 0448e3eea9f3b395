/**
 * Mail without a mail server: each message is a file that only this user can read, and `npm start` prints it on the
 * terminal. Messages never go to standard output, which may be kept as a log.
 */
import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, watch } from 'node:fs'
import { readdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Mail } from '../../control/deps.ts'

const KEPT_MS = 24 * 3600 * 1000

export const mailFolder = (home: string) => join(home, 'mail')

export function createTerminalMail(folder: string): Mail {
  return {
    async send({ to, subject, text }) {
      mkdirSync(folder, { recursive: true, mode: 0o700 })
      await removeOld(folder)
      const file = join(folder, `${new Date().toISOString().replaceAll(':', '-')}-${randomBytes(4).toString('hex')}`)
      await writeFile(`${file}.new`, `To: ${to}\nSubject: ${subject}\n\n${text}\n`, { mode: 0o600 })
      await rename(`${file}.new`, `${file}.txt`) // atomic, because the watcher may read it at once
    },
  }
}

/** Deletes messages older than a day: their codes have expired, and they name people. */
async function removeOld(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const file = join(folder, name)
    const { mtimeMs } = await stat(file).catch(() => ({ mtimeMs: Number.POSITIVE_INFINITY }))
    if (Date.now() - mtimeMs > KEPT_MS) await rm(file, { force: true })
  }
}

/** Prints messages sent from now on by any process. */
export function showMail(folder: string, show: (text: string) => void): { stop(): Promise<void> } {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const watcher = watch(folder, (_, name) => {
    if (!name?.endsWith('.txt')) return
    try {
      show(readFileSync(join(folder, name), 'utf8'))
    } catch {
      // deleted meanwhile
    }
  })
  return { stop: async () => watcher.close() }
}
