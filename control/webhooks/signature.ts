import { createHmac, randomBytes } from 'node:crypto'

const PREFIX = 'whsec_'

export const newSecret = () => PREFIX + randomBytes(32).toString('base64')

const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text)

/**
 * `X-Svc-Signature` signs the raw body with the whole `whsec_…` string of the newest secret as key. The other headers
 * follow standardwebhooks.com: the key is the decoded part after the prefix, with one signature for each valid secret.
 */
export function signatureHeaders(
  delivery: { id: string; body: string; atMs: number },
  secrets: [string, ...string[]],
): Record<string, string> {
  const timestamp = String(Math.floor(delivery.atMs / 1000))
  const signed = `${delivery.id}.${timestamp}.${delivery.body}`
  const standard = secrets.map(secret => {
    const key = Buffer.from(secret.slice(PREFIX.length), 'base64')
    return `v1,${hmac(key, signed).digest('base64')}`
  })
  return {
    'x-svc-signature': `sha256=${hmac(secrets[0], delivery.body).digest('hex')}`,
    'webhook-id': delivery.id,
    'webhook-timestamp': timestamp,
    'webhook-signature': standard.join(' '),
  }
}
