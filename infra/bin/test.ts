/** `npm test` and `npm run test:full`: installs what the tests need, then types, lint and all tests, and closes with what failed and the count. */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { readConfig } from '../config/config.ts'
import { buildChartTools } from '../deploy/helm/tools.ts'
import { buildLiveKit, findLiveKit } from '../embedded/livekit.ts'
import { ensureEmbeddingModel } from '../models/embedding/model.ts'
import { ensureModels } from '../models/offline-speech.ts'
import { ensureWhisper } from '../models/whisper.ts'
import { allowedIn, auditPackages } from '../tools/audit.ts'
import { ensureDashboard } from '../tools/dashboard.ts'
import { createReporter, ensureChromium, ensurePrograms } from '../tools/prepare.ts'
import { ensurePackages, LIVEKIT_CLIENT, SCHEMATHESIS } from '../tools/python.ts'
import { runTests } from '../tools/test-runner.ts'

/** The long form of the tests that have one; everything else is passed on to the test runner. */
const full = process.argv.includes('--full')
const reporter = createReporter()
const config = readConfig()

const missing = await ensurePrograms(
  [
    'redis-server',
    'sipp',
    'baresip',
    'espeak-ng',
    'unshare',
    'ip',
    'tcpdump',
    'kamailio',
    'openssl',
    'python3',
    'pip3',
  ],
  reporter,
)
if (missing.length > 0)
  fail(`These programs are needed by the tests and cannot be installed here: ${missing.join(', ')}.`)
for (const program of await ensurePrograms(['rtpengine', 'linphonec'], reporter))
  reporter.say(`${program} is not here, so the tests with it are skipped.`)
// Minutes where it must be built: beside all that follows.
const rooms = ensureLiveKit()
const chartTools = full ? ensureChartTools() : null
const problem = await ensureModels(config.cache, reporter)
if (problem) fail(`The speech models are needed by the tests: ${problem}`)

const sttUnavailable = await ensureWhisper(config.cache)
if (sttUnavailable) fail(`The model for Russian is needed by the tests: ${sttUnavailable}`)
const embeddingUnavailable = await ensureEmbeddingModel(config.cache, reporter)
if (embeddingUnavailable) fail(`The embedding model is needed by the tests: ${embeddingUnavailable}`)

for (const packages of [SCHEMATHESIS, LIVEKIT_CLIENT]) {
  const without = await ensurePackages(config.cache, packages, reporter)
  if (without) reporter.say(`${packages.name} is not here, so its tests are skipped: ${without}`)
}
if (!(await ensureChromium(reporter))) reporter.say('There is no Chromium here, so the tests of the pages are skipped.')

const unbuilt = await ensureDashboard(reporter)
if (unbuilt) fail(`The dashboard cannot be built: ${unbuilt}`)

if (!(await check('tsc', ['--noEmit'], 'Types'))) fail('The types do not fit.')
if (!(await check('tsc', ['--noEmit', '-p', 'control/dashboard'], 'Types of the dashboard')))
  fail('The types do not fit.')
if (!(await check('biome', ['check', '.'], 'Lint and format')))
  fail('The linter has complaints; `npm run format` mends most.')

await checkPackages()
await rooms
await chartTools
const args = process.argv.slice(2).filter(argument => argument !== '--full')
const { passed, failed, skipped, failures, flaky, slowest } = await runTests({ folder: config.home, args, full })
console.log('The slowest files, in seconds with their imports and hooks:')
for (const { seconds, project, file } of slowest) console.log(`${seconds.toFixed(1).padStart(7)}  ${project}  ${file}`)
for (const failure of flaky) console.log(`FLAKY (failed beside others, passed alone) ${failure}`)
for (const failure of failures) console.log(`FAILED ${failure}`)
console.log(`${flaky.length} flaky`)
console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`)
process.exit(failed === 0 ? 0 : 1)

async function ensureLiveKit(): Promise<void> {
  if (findLiveKit(config.cache)) return
  const build = new AbortController()
  process.once('exit', () => build.abort())
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
  reporter.say('Building LiveKit, once; this takes some minutes')
  const result = await buildLiveKit(config.cache, join(config.home, 'livekit-build.log'), build.signal)
  if (typeof result === 'string') reporter.say('LiveKit is built')
  else reporter.say(`LiveKit is not here (${result.missing}), so all tests of WebRTC are skipped.`)
}

/** Without them the chart is checked as text, not as what it becomes. */
async function ensureChartTools(): Promise<void> {
  const build = new AbortController()
  process.once('exit', () => build.abort())
  const result = await buildChartTools(config.cache, join(config.home, 'chart-tools.log'), build.signal)
  if (typeof result === 'string') reporter.say(`The chart is not rendered: ${result}`)
}

async function checkPackages(): Promise<void> {
  const folder = join(import.meta.dirname, '../..')
  const done = reporter.step('Known holes in packages')
  const audit = await auditPackages(folder, allowedIn(folder), new Date().toISOString().slice(0, 10))
  if (audit.kind === 'unanswered') return done(`not known, since the registry does not tell (${audit.why})`)
  done(audit.complaints.length === 0 ? undefined : 'failed')
  for (const complaint of audit.complaints) console.log(complaint)
  if (audit.complaints.length > 0) fail('Packages that we use have known holes.')
}

function check(command: string, args: string[], step: string): Promise<boolean> {
  const done = reporter.step(step)
  return new Promise(resolve => {
    const child = spawn(command, args, { stdio: ['ignore', 'inherit', 'inherit'] })
    child.once('error', error => fail(`${command} could not be started: ${error.message}`))
    child.once('close', exit => {
      done(exit === 0 ? undefined : 'failed')
      resolve(exit === 0)
    })
  })
}

function fail(text: string): never {
  console.log(text)
  console.log('0 passed, 1 failed, 0 skipped')
  process.exit(1)
}
