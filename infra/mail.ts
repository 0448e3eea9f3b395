/**
 * What the settings say of mail, and mail without a mail server: each message is a file that only we can read, and is shown on
 * the terminal of `npm start`. It never goes to standard output of a process whose output is kept as a log.
 */
import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, watch } from 'node:fs'
import { readdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import type { Mail } from '../control/deps.ts'

/** Where a mail server is, and who we are there. */
export interface SmtpPlace {
  host: string
  port: number
  /** From the first byte (RFC 8314, 3.3); else by STARTTLS. */
  tls: boolean
  login: { user: string; password: string } | null
}

/** `smtp://user:password@host:587` or `smtps://…:465`, user and password percent-encoded. Null: that is something else. */
export function readSmtpUrl(text: string): SmtpPlace | null {
  try {
    const { protocol, hostname, port, username, password, pathname, search, hash } = new URL(text)
    const tls = protocol === 'smtps:'
    if (!tls && protocol !== 'smtp:') return null
    if (!HOST.test(hostname) || port === '0' || !/^\/?$/.test(pathname) || search + hash !== '') return null
    if ((username === '') !== (password === '')) return null
    const login = { user: decodeURIComponent(username), password: decodeURIComponent(password) }
    return {
      host: hostname.toLowerCase(),
      port: Number(port || (tls ? 465 : 587)),
      tls,
      login: username ? login : null,
    }
  } catch {
    return null // no URL, half of a letter, or a bare %
  }
}

/** A name, or an address; one of IPv6 in brackets. */
const HOST = /^(?:[a-z\d](?:[\w.-]*[a-z\d])?|\[[\da-f:.]+\])$/i

export interface Mailbox {
  /** Empty: the address stands alone. */
  name: string
  address: string
}

/** `Parley <parley@example.com>`, or the address alone (RFC 5322, 3.4). Null: that is none, or more than one. */
export function readMailbox(text: string): Mailbox | null {
  const match = /^\s*(?:"?([^"<>@\p{Cc}]*?)"?\s*<([^<>\s]+)>|([^<>\s]+))\s*$/u.exec(text)
  const address = z
    .email()
    .max(254)
    .safeParse(match?.[2] ?? match?.[3])
  return match && address.success ? { name: match[1] ?? '', address: address.data } : null
}

// ---- without a server ----

const KEPT_MS = 24 * 3600 * 1000

export const mailFolder = (home: string) => join(home, 'mail')

export function createTerminalMail(folder: string): Mail {
  return {
    async send({ to, subject, text }) {
      mkdirSync(folder, { recursive: true, mode: 0o700 })
      await removeOld(folder)
      const file = join(folder, `${new Date().toISOString().replaceAll(':', '-')}-${randomBytes(4).toString('hex')}`)
      await writeFile(`${file}.new`, `To: ${to}\nSubject: ${subject}\n\n${text}\n`, { mode: 0o600 })
      await rename(`${file}.new`, `${file}.txt`) // whole when it is seen
    },
  }
}

/** What was in them is of no use any more, and names people. */
async function removeOld(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const file = join(folder, name)
    const { mtimeMs } = await stat(file).catch(() => ({ mtimeMs: Number.POSITIVE_INFINITY }))
    if (Date.now() - mtimeMs > KEPT_MS) await rm(file, { force: true })
  }
}

/** Shows what is sent from now on, by whichever process. */
export function showMail(folder: string, show: (text: string) => void): { stop(): Promise<void> } {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const watcher = watch(folder, (_, name) => {
    if (!name?.endsWith('.txt')) return
    try {
      show(readFileSync(join(folder, name), 'utf8'))
    } catch {
      // taken away meanwhile
    }
  })
  return { stop: async () => watcher.close() }
}
