/** SIP over TLS (RFC 3261 §26.3.1, RFC 5922): our certificate, and the authorities we trust. */
import { isIP } from 'node:net'
import { checkServerIdentity, connect, createServer, type PeerCertificate, rootCertificates } from 'node:tls'
import type { StreamKind } from './transport-stream.ts'

/** All values are PEM. */
export interface TlsSettings {
  cert: string
  key: string
  /** CA certificates trusted in addition to the public authorities. */
  ca?: readonly string[]
}

const HANDSHAKE_MS = 10_000
const OLDEST = 'TLSv1.2'

/** Returns undefined when the certificate names `name`, as a host or as `sip:name` (RFC 5922 §7.1). */
export function nameError(name: string, certificate: PeerCertificate): Error | undefined {
  const error = checkServerIdentity(name, certificate)
  if (error === undefined) return undefined
  const uris = (certificate.subjectaltname ?? '').split(', ').filter(entry => entry.startsWith('URI:'))
  if (uris.some(uri => uri.slice(4).toLowerCase() === `sip:${name.toLowerCase()}`)) return undefined
  const named = certificate.subjectaltname ?? certificate.subject?.CN ?? 'nobody'
  return Object.assign(new Error(`the certificate is for ${named}, not for ${name}`), { code: error.name })
}

export function tls(settings: TlsSettings): StreamKind {
  const { cert, key } = settings
  const ca = [...rootCertificates, ...(settings.ca ?? [])]
  return {
    protocol: 'tls',
    ready: 'secureConnection',
    serve: () => createServer({ cert, key, handshakeTimeout: HANDSHAKE_MS, minVersion: OLDEST }),
    dial: ({ host, port }, localAddress, name) =>
      connect({
        host,
        port,
        ca,
        cert,
        key,
        minVersion: OLDEST,
        ...(localAddress === undefined ? {} : { localAddress }),
        // An IP address is never sent as a server name (RFC 6066 §3).
        servername: isIP(name) === 0 ? name : '',
        checkServerIdentity: (_host, certificate) => nameError(name, certificate),
      }),
  }
}

const WORDS: Readonly<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: 'the certificate is self-signed and not trusted',
  SELF_SIGNED_CERT_IN_CHAIN: 'the certificate is signed by an authority that is not trusted',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'the certificate is signed by an authority that is not trusted',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'the certificate is signed by an authority that is not trusted',
  CERT_HAS_EXPIRED: 'the certificate has expired',
  CERT_NOT_YET_VALID: 'the certificate is not valid yet',
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'the connection was reset',
  EHOSTUNREACH: 'there is no route to that host',
  ENETUNREACH: 'there is no route to that network',
  EPROTO: 'TLS protocol error',
}

/** Explains, for people, why the transport could not send a message. */
export function transportWords(error: Error): string {
  return WORDS[(error as NodeJS.ErrnoException).code ?? ''] ?? error.message
}
