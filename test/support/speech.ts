/** The speech process's server with the offline models, and its client, inside of a test. */
import { afterAll, beforeAll } from 'vitest'
import { systemClock } from '../../infra/adapters/clock.ts'
import { readConfig } from '../../infra/config/config.ts'
import { modelsFolder } from '../../infra/models/offline-speech.ts'
import { createSpeechClient, type SpeechClient } from '../../media/models/speech/client.ts'
import { type SpeechServer, startSpeechServer } from '../../media/models/speech/server.ts'
import { loadModels } from '../../media/models/speech/sherpa.ts'
import { quietLog } from './world.ts'

export interface Speech {
  server: SpeechServer
  client: SpeechClient
}

/** Opens both for the tests of the file, hands them to `use`, and closes them afterwards. */
export function withSpeech(use: (opened: Speech) => void): void {
  let opened: Speech
  beforeAll(async () => {
    const models = await loadModels(modelsFolder(readConfig().cache), 1)
    const server = await startSpeechServer({ host: '127.0.0.1', port: 0, models, log: quietLog })
    const client = createSpeechClient({ host: '127.0.0.1', port: server.port, clock: systemClock, log: quietLog })
    await client.ready
    opened = { server, client }
    use(opened)
  })
  afterAll(async () => {
    opened.client.close()
    await opened.server.close()
  })
}
