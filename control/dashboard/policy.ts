/** The `Content-Security-Policy` and `Permissions-Policy` of our page. */

/** `livekitUrl`: null without LiveKit. The client sends an HTTP request to LiveKit before it opens its WebSocket. */
export function livekitSources(livekitUrl: string | null): string[] {
  if (livekitUrl === null) return []
  const { protocol, host } = new URL(livekitUrl)
  return [`${protocol}//${host}`, `${protocol.replace('ws', 'http')}//${host}`]
}

/** Placeholder in the built page, replaced by a new nonce for each response. */
export const NONCE_PLACE = '__CSP_NONCE__'

interface PagePolicy {
  livekitUrl: string | null
  /** Allows style elements with this nonce. Scripts are allowed from files only. */
  nonce: string
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
    `style-src 'self' 'nonce-${nonce}'`,
  ].join('; ')
}

export const PERMISSIONS = 'microphone=(self), camera=(), geolocation=(), display-capture=()'
