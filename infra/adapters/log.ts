/** Log as JSON lines on stderr; secrets and personal data are not put into fields, and redacted if they were. */
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

/** `to`: where the lines go; standard error unless a test reads them. */
export function createLog(name: string, level: string, to: DestinationStream = standardError()): Log {
  const paths = PRIVATE.flatMap(field => [field, `*.${field}`])
  // Libraries hang what they were doing on their errors: a model's the whole conversation, Redis' the command.
  const serializers = { err: errorFields }
  return pino({ name, level, serializers, redact: { paths, censor: '[private]' } }, to) as Log
}

const standardError = () => pino.destination({ dest: 2, sync: true })
