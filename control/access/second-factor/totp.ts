/** Codes of an authenticator app: TOTP, RFC 6238, with SHA-1, six digits and 30 s, which every app supports. */
import { Secret, TOTP } from 'otpauth'

const PERIOD_SECONDS = 30
const DIGITS = 6
/** 160 bits, as RFC 4226 §4 recommends. */
const SECRET_BYTES = 20
/** Steps before and after the current one: a clock may be off, and a person types slowly (RFC 6238 §5.2). */
const WINDOW = 1

/** A new secret in Base32. */
export const createTotpSecret = (): string => new Secret({ size: SECRET_BYTES }).base32

const totpOf = (secret: string, label = '') =>
  new TOTP({
    issuer: 'Parley',
    label,
    algorithm: 'SHA1',
    digits: DIGITS,
    period: PERIOD_SECONDS,
    secret: Secret.fromBase32(secret),
  })

/** The `otpauth:` address that an app reads from a QR code. */
export const totpUri = (secret: string, label: string): string => totpOf(secret, label).toString()

/** Returns the time step of a right code, which must not be accepted again; null for a wrong one. `now` is in ms. */
export function totpStep(secret: string, code: string, now: number): number | null {
  if (!/^\d{6}$/.test(code)) return null
  const delta = totpOf(secret).validate({ token: code, timestamp: now, window: WINDOW })
  return delta === null ? null : Math.floor(now / 1000 / PERIOD_SECONDS) + delta
}
