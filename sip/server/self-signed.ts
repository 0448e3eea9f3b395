/** Generates a certificate for loopback: X.509 (RFC 5280) in DER, signed by its own key. */
import { generateKeyPairSync, randomBytes, sign } from 'node:crypto'

const SEQUENCE = 0x30
const SET = 0x31
const ECDSA_SHA256 = Buffer.from('06082a8648ce3d040302', 'hex')
const COMMON_NAME = Buffer.from('0603550403', 'hex')
const ALT_NAMES = Buffer.from('0603551d11', 'hex')
const BASIC_CONSTRAINTS = Buffer.from('0603551d13', 'hex')
const YEAR_MS = 365 * 86_400_000

function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts)
  const { length } = content
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, Math.floor(length / 256), length % 256]
  return Buffer.concat([Buffer.from([tag, ...size]), content])
}

/** GeneralizedTime without fractions (RFC 5280 §4.1.2.5.2). */
function time(ms: number): Buffer {
  const digits = new Date(ms).toISOString().replace(/\D/g, '').slice(0, 14)
  return der(0x18, Buffer.from(`${digits}Z`))
}

function pem(label: string, bytes: Buffer): string {
  const lines = bytes.toString('base64').replace(/.{64}/g, '$&\n').trimEnd()
  return `-----BEGIN ${label}-----\n${lines}\n-----END ${label}-----\n`
}

function altNames(): Buffer {
  const names = [
    der(0x82, Buffer.from('localhost')),
    der(0x87, Buffer.from([127, 0, 0, 1])),
    der(0x87, Buffer.concat([Buffer.alloc(15), Buffer.from([1])])),
  ]
  return der(SEQUENCE, ALT_NAMES, der(0x04, der(SEQUENCE, ...names)))
}

/** Valid for `localhost`, 127.0.0.1 and ::1, from one day ago and for a year. */
export function selfSigned(now: number): { cert: string; key: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
  const algorithm = der(SEQUENCE, ECDSA_SHA256)
  const name = der(SEQUENCE, der(SET, der(SEQUENCE, COMMON_NAME, der(0x0c, Buffer.from('localhost')))))
  const serial = randomBytes(16)
  // A set first bit would make the number negative, and a leading zero octet would not be minimal.
  serial[0] = ((serial[0] ?? 0) & 0x3f) | 0x40
  const authority = der(SEQUENCE, BASIC_CONSTRAINTS, der(0x04, der(SEQUENCE, der(0x01, Buffer.from([0xff])))))
  const body = der(
    SEQUENCE,
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, serial),
    algorithm,
    name,
    der(SEQUENCE, time(now - 86_400_000), time(now + YEAR_MS)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, der(SEQUENCE, authority, altNames())),
  )
  const signature = der(0x03, Buffer.from([0]), sign('sha256', body, privateKey))
  return {
    cert: pem('CERTIFICATE', der(SEQUENCE, body, algorithm, signature)),
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  }
}
