/** Log as JSON lines on stderr; secrets and personal data are not put into fields, and redacted if they were. */
import pino from 'pino'
import type { Log } from '../media/ports.ts'

const PRIVATE = [
  'password',
  'authorization',
  'api_key',
  'secret',
  'token',
  'phone',
  'from',
  'to',
  'caller',
  'called',
  'text',
]

export function createLog(name: string, level: string): Log {
  const paths = PRIVATE.flatMap(field => [field, `*.${field}`])
  return pino({ name, level, redact: { paths, censor: '[private]' } }, pino.destination({ dest: 2, sync: true })) as Log
}
