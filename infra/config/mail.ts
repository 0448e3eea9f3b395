/** The mail settings: SMTP_URL and MAIL_FROM, parsed once. */
import { z } from 'zod'

/** A mail server and our login there. */
export interface SmtpServer {
  host: string
  port: number
  /** TLS from the first byte (RFC 8314 §3.3); STARTTLS otherwise. */
  tls: boolean
  login: { user: string; password: string } | null
}

/**
 * Parses `smtp://user:password@host:587` or `smtps://…:465`, user and password percent-encoded. Null when malformed.
 */
export function readSmtpUrl(text: string): SmtpServer | null {
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
    return null // not a URL, a truncated character, or a bare %
  }
}

/** A host name or an address; IPv6 in brackets. */
const HOST = /^(?:[a-z\d](?:[\w.-]*[a-z\d])?|\[[\da-f:.]+\])$/i

export interface Mailbox {
  /** Empty when the address stands alone. */
  name: string
  address: string
}

/** Parses `Parley <parley@example.com>`, or the address alone (RFC 5322 §3.4). Null for none or more than one. */
export function readMailbox(text: string): Mailbox | null {
  const match = /^\s*(?:"?([^"<>@\p{Cc}]*?)"?\s*<([^<>\s]+)>|([^<>\s]+))\s*$/u.exec(text)
  const address = z
    .email()
    .max(254)
    .safeParse(match?.[2] ?? match?.[3])
  return match && address.success ? { name: match[1] ?? '', address: address.data } : null
}
