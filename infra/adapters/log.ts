/** Logs JSON lines to stderr. Secrets and personal data must not be fields, and are redacted if they are. */
import pino, { type DestinationStream } from 'pino'
import { errorFields } from '../../control/platform/log.ts'
import type { Log } from '../../media/shared/log.ts'

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

/** `to` is the destination: standard error, unless a test reads the lines. */
export function createLog(name: string, level: string, to: DestinationStream = standardError()): Log {
  const paths = PRIVATE.flatMap(field => [field, `*.${field}`])
  // Libraries attach their input to errors: a model its whole conversation, Redis its command.
  const serializers = { err: errorFields }
  return pino({ name, level, serializers, redact: { paths, censor: '[private]' } }, to) as Log
}

const standardError = () => pino.destination({ dest: 2, sync: true })
