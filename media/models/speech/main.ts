/**
 * Entry point of the speech process. Takes command line options; prints one line of JSON to stdout when it is ready.
 */
import { parseArgs } from 'node:util'
import pino from 'pino'
import { bareError } from '../../shared/bare-error.ts'
import { startSpeechServer } from './server.ts'
import { loadModels, missingModels } from './sherpa.ts'
import { createWhisper } from './whisper.ts'

const { values } = parseArgs({
  options: {
    host: { type: 'string', default: '127.0.0.1' },
    port: { type: 'string', default: '0' },
    models: { type: 'string' },
    whisper: { type: 'string' },
    threads: { type: 'string', default: '1' },
    'log-level': { type: 'string', default: 'info' },
  },
})
const level = values['log-level']
const log = pino({ name: 'speech', level, serializers: { err: bareError } }, pino.destination(2))
const missing = values.models ? missingModels(values.models) : ['--models']
if (missing.length > 0) log.warn({ missing }, 'offline speech models are not installed, STT is unavailable')
const models = missing.length > 0 ? null : await loadModels(values.models!, Number(values.threads))
const whisper = values.whisper ? createWhisper(values.whisper) : null
const server = await startSpeechServer({ host: values.host, port: Number(values.port), models, whisper, log })
process.stdout.write(`${JSON.stringify({ ready: true, port: server.port, sttReady: models !== null })}\n`)
// Exit when the supervisor was killed, since nobody else would stop this process.
const parent = process.ppid
setInterval(() => {
  if (process.ppid !== parent) process.exit(0)
}, 1000).unref()
for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.on(signal, () => void server.close().then(() => process.exit(0)))
}
