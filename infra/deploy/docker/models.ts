/**
 * `node infra/deploy/docker/models.ts FOLDER`: downloads all offline models for an image; a missing one ends the image
 * build.
 */
import { ensureEmbeddingModel } from '../../models/embedding/model.ts'
import { ensureModels } from '../../models/offline-speech.ts'
import { ensureWhisper } from '../../models/whisper.ts'
import { createReporter } from '../../setup/prepare.ts'

const [folder] = process.argv.slice(2)
if (folder === undefined) {
  console.error('usage: node infra/deploy/docker/models.ts FOLDER')
  process.exit(2)
}
const reporter = createReporter()
const problems = {
  'speech models': await ensureModels(folder, reporter),
  'Russian speech-to-text': await ensureWhisper(folder),
  'knowledge base': await ensureEmbeddingModel(folder, reporter),
}
const missing = Object.entries(problems).filter(([, problem]) => problem !== null)
for (const [name, problem] of missing) console.error(`${name}: ${problem}`)
process.exit(missing.length === 0 ? 0 : 1)
