/** The parts of `npm start` that a call needs besides the engine: SIP server, offline models, the telephone of the demo. */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { writeAllowedSources } from '../adapters/allowed-sources.ts'
import { startChild } from '../embedded/child.ts'
import { onFreePort } from '../embedded/ports.ts'
import { startSipServer, startSpeech } from '../embedded/programs.ts'
import { modelsFolder } from '../models/offline-speech.ts'
import { whisperPath } from '../models/whisper.ts'
import { configuredAddresses } from '../wiring/reach.ts'
import { hostPort, type Launch } from './launch.ts'

/** Starts the embedded SIP server, unless a drachtio-server is configured. Returns the address that callers use. */
export async function startSip(launch: Launch): Promise<{ host: string; port: number }> {
  const { config, env } = launch
  const host = config.SIP_HOST
  if (config.DRACHTIO_HOST) return { host, port: config.SIP_PORT }
  const secret = randomBytes(16).toString('hex')
  const { METRICS_PORT: metrics } = launch.metricsPort(2)
  const limits = {
    ...launch.child('sip-server'),
    logLevel: config.PARLEY_LOG_LEVEL,
    privateHosts: config.TRUNK_PRIVATE_HOSTS,
    ownIps: configuredAddresses(config),
    ...(metrics === undefined ? {} : { metrics: hostPort(config.METRICS_HOST, metrics) }),
  }
  const allowFile = join(config.home, 'sip-allowed-sources')
  writeAllowedSources(allowFile, [])
  const server = await onFreePort(
    config.SIP_PORT,
    port =>
      onFreePort(9022, async admin => {
        const listen = [`udp:${host}:${port}`, `tcp:${host}:${port}`]
        return {
          port,
          admin,
          ...(await startSipServer({ admin: `127.0.0.1:${admin}`, secret, listen, allowFile, ...limits })),
        }
      }),
    { host, udpToo: true },
  )
  const { port, admin } = server
  if (port !== config.SIP_PORT) launch.reporter.say(`Port ${config.SIP_PORT} is in use. SIP listens on ${port}.`)
  launch.keep('SIP server', server.child)
  Object.assign(env, {
    DRACHTIO_HOST: '127.0.0.1',
    DRACHTIO_PORT: String(admin),
    DRACHTIO_SECRET: secret,
    SIP_PORT: String(port),
    SIP_ALLOW_FILE: allowFile,
  })
  return { host, port }
}

/** Starts the offline models, unless a speech process is configured. Returns whether speech-to-text works. */
export async function startSpeechRecognition(launch: Launch): Promise<boolean> {
  const { config, env } = launch
  if (config.SPEECH_PORT) return true
  const models = modelsFolder(config.cache)
  const speech = await onFreePort(9040, async port => ({
    port,
    ...(await startSpeech({
      port,
      models,
      whisper: whisperPath(config.cache),
      threads: config.speechThreads,
      logLevel: config.PARLEY_LOG_LEVEL,
      ...launch.child('speech'),
    })),
  }))
  launch.keep('speech', speech.child)
  env['SPEECH_PORT'] = String(speech.port)
  return speech.sttReady
}

/** Starts the telephone that the demo call rings. */
export async function startPhone(launch: Launch): Promise<{ host: string; port: number }> {
  const file = fileURLToPath(new URL('../demo/phone.ts', import.meta.url))
  const record = join(launch.config.home, 'demo-call.wav')
  const start = async (port: number) => {
    const child = await startChild({
      name: 'Phone',
      command: process.execPath,
      args: [file, '--port', String(port), '--record', record],
      ready: (line: string) => line.startsWith('{"ready":true'),
      readyTimeoutMs: 20_000,
      ...launch.child('phone'),
    })
    return { child, host: '127.0.0.1', port }
  }
  const { child, ...address } = await onFreePort(5070, start, { udpToo: true })
  launch.keep('phone', child)
  return address
}
