/**
 * The speech process: one per host, shared by its engines. Calls take turns in bounded queues; excess work is refused.
 */
import { createServer, type Server, type Socket } from 'node:net'
import type { Log } from '../../shared/log.ts'
import { espeakInstalled } from './espeak.ts'
import { FairQueue } from './fair-queue.ts'
import { type SpeechWork, serveClient } from './server-client.ts'
import type { SpeechModels } from './sherpa.ts'
import type { Whisper } from './whisper.ts'

export interface SpeechServerOptions {
  host: string
  port: number
  /** Null when the models are not installed: the process then only speaks, through espeak-ng, and reports that. */
  models: SpeechModels | null
  /** Null when Whisper is not installed: Russian STT is then unavailable. */
  whisper?: Whisper | null
  log: Log
}

export interface SpeechServer {
  port: number
  close(): Promise<void>
}

export async function startSpeechServer(options: SpeechServerOptions): Promise<SpeechServer> {
  const { models, whisper = null, log } = options
  // One job at a time each: parallel sentences would only delay each other on the same cores. Each has a thread of its own.
  const now = () => performance.now()
  const [english, others, tts] = [new FairQueue(now), new FairQueue(now), new FairQueue(now)]
  const work: SpeechWork = { models, whisper, log, stt: { english, others }, tts, espeak: await espeakInstalled() }
  const sockets = new Set<Socket>()
  let clients = 0
  const server: Server = createServer(socket => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    serveClient(socket, work, ++clients)
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(options.port, options.host, resolve)
  })
  return {
    port: (server.address() as { port: number }).port,
    async close() {
      for (const socket of sockets) socket.destroy()
      await whisper?.close()
      await new Promise(resolve => server.close(resolve))
    },
  }
}
