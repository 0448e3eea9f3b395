/** Rewrites `recorded.jsonl` with the models of this machine: `node record.ts [part of an id]...`. */
import { writeFileSync } from 'node:fs'
import { systemClock } from '../../../infra/adapters/clock.ts'
import { readConfig } from '../../../infra/config/config.ts'
import { modelsFolder } from '../../../infra/models/offline-speech.ts'
import { createSpeechClient } from '../../../media/models/speech/client.ts'
import { startSpeechServer } from '../../../media/models/speech/server.ts'
import { loadModels } from '../../../media/models/speech/sherpa.ts'
import { quietLog } from '../../support/world.ts'
import { babbleOf, index, soundOf } from './sounds.ts'
import { liveStt, RECORDED_FILE, readRecorded, record } from './stt.ts'

const models = await loadModels(modelsFolder(readConfig().cache), 1)
const server = await startSpeechServer({ host: '127.0.0.1', port: 0, models, log: quietLog })
const client = createSpeechClient({ host: '127.0.0.1', port: server.port, clock: systemClock, log: quietLog })
await client.ready

const clips = index()
const recorded = readRecorded()
const only = process.argv.slice(2)
for (const clip of clips.filter(({ id }) => only.length === 0 || only.some(part => id.includes(part)))) {
  const sound = soundOf(clip, babbleOf(clips, clip.split))
  recorded[clip.id] = await record(await liveStt(client, clip, sound), sound, clip.language === 'en')
  console.error(clip.id, recorded[clip.id]!.texts?.at(-1)?.[1])
}
writeFileSync(RECORDED_FILE, `${clips.map(({ id }) => JSON.stringify([id, recorded[id]])).join('\n')}\n`)
client.close()
await server.close()
