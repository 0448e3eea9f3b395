/** `npm run openapi`: writes the OpenAPI document and the client's types. Needs no database. */
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Redis } from 'ioredis'
import { buildApp } from '../../control/app.ts'
import { defaultConfig } from '../../control/deps.ts'
import { handlers } from '../../control/handlers.ts'
import { connect } from '../../control/platform/db/connect.ts'
import { createBoss } from '../../control/platform/jobs/jobs.ts'
import { createControlBus } from '../../media/bus/control-bus.ts'
import { createSealer } from '../../media/contract/seal.ts'
import { createFolderBlobs } from '../adapters/blobs.ts'
import { systemClock } from '../adapters/clock.ts'
import { createLog } from '../adapters/log.ts'
import { run } from '../setup/prepare.ts'

const DOCUMENT = 'control/openapi.json'
const TYPES = 'control/api/client/api.ts'
/** It depends on an older TypeScript than ours, so it is downloaded on demand. */
const GENERATOR = ['--package=openapi-typescript@7.13.0', '--package=typescript@5.9.3']

const text = `${JSON.stringify(await readDocument(), null, 2)}\n`
writeFileSync(DOCUMENT, text)
mkdirSync(dirname(TYPES), { recursive: true })
writeFileSync(TYPES, `// From ${DOCUMENT}, sha256 ${sha256(text)}, by \`npm run openapi\`.\n${await generate()}`)
console.log(`Wrote ${DOCUMENT} and ${TYPES}.`)

/** Builds the routes over dependencies that never connect. */
async function readDocument(): Promise<object> {
  const log = createLog('openapi', 'silent')
  const redis = new Redis({ lazyConnect: true })
  const url = 'postgres://nobody@127.0.0.1:1/nowhere'
  const sealer = createSealer('nothing is sealed')
  const app = await buildApp({
    ...handlers,
    sql: connect({ url }),
    redis,
    bus: createControlBus({ redis, sealer, consumer: 'openapi', log }),
    sealer,
    fetch: () => Promise.reject(new Error('nothing is fetched')),
    blobs: createFolderBlobs(tmpdir()),
    mail: { send: async () => {} },
    clock: systemClock,
    log,
    boss: createBoss({ url, log }),
    config: defaultConfig,
  })
  const document = app.swagger()
  await app.close()
  redis.disconnect()
  return document
}

async function generate(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'parley-openapi-'))
  const file = join(folder, 'api.ts')
  try {
    const command = ['exec', '--yes', ...GENERATOR, '--', 'openapi-typescript', DOCUMENT, '--output', file]
    const { code, output } = await run('npm', command)
    if (code !== 0) throw new Error(`openapi-typescript failed; the types are unchanged:\n${output}`)
    return readFileSync(file, 'utf8')
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function sha256(data: string): string {
  return createHash('sha256').update(data).digest('hex')
}
