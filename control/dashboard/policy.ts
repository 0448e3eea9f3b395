/** What our pages may reach, for `Content-Security-Policy`. */

/** `livekitUrl`: null where there is none. The browser asks LiveKit over http before it opens its socket. */
export function livekitSources(livekitUrl: string | null): string[] {
  if (livekitUrl === null) return []
  const { protocol, host } = new URL(livekitUrl)
  return [`${protocol}//${host}`, `${protocol.replace('ws', 'http')}//${host}`]
}

/** Stands in the built page where each visit has its nonce. */
export const NONCE_PLACE = '__CSP_NONCE__'

interface PagePolicy {
  livekitUrl: string | null
  /** Lets style elements past that carry it. Scripts come from files alone. */
  nonce?: string
}

export function pagePolicy({ livekitUrl, nonce }: PagePolicy): string {
  return [
    "default-src 'none'",
    "base-uri 'none'",
    ["connect-src 'self'", ...livekitSources(livekitUrl)].join(' '),
    "font-src 'self'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "img-src 'self' data:",
    "media-src 'self' blob:",
    "script-src 'self'",
    nonce === undefined ? "style-src 'self'" : `style-src 'self' 'nonce-${nonce}'`,
  ].join('; ')
}

export const PERMISSIONS = 'microphone=(self), camera=(), geolocation=(), display-capture=()'
