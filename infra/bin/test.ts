/**
 * `npm test` and `npm run test:full`: installs what the tests need, checks types and lint, runs all tests, and prints
 * failures and counts.
 */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { readConfig } from '../config/config.ts'
import { buildChartTools } from '../deploy/helm/tools.ts'
import { buildLiveKit, findLiveKit } from '../embedded/livekit.ts'
import { ensureRedis } from '../embedded/redis-server.ts'
import { ensureEmbeddingModel } from '../models/embedding/model.ts'
import { ensureModels } from '../models/offline-speech.ts'
import { ensureWhisper } from '../models/whisper.ts'
import { createReporter, ensureChromium, ensurePrograms, onPath } from '../setup/prepare.ts'
import { ensureDashboard } from '../tools/dashboard.ts'
import { ensurePackages, LIVEKIT_CLIENT, SCHEMATHESIS } from '../tools/python.ts'
import { runTests } from '../tools/test-runner.ts'

/** Runs the long form of tests that have one; other arguments are passed to the test runner. */
const full = process.argv.includes('--full')
const reporter = createReporter()
const config = readConfig()

/** System programs and the tests that need them. Where they cannot be installed, `npm test` skips those tests. */
const TESTED_WITH: Record<string, string> = {
  sipp: 'calls with a foreign SIP peer',
  baresip: 'calls with a foreign phone',
  tcpdump: 'captured traffic of calls',
  kamailio: 'calls through a foreign carrier',
  openssl: 'certificates, and DTLS with OpenSSL',
  'espeak-ng': 'voices for languages other than English',
  unshare: "drachtio-srf's own tests in a network namespace",
  ip: "drachtio-srf's own tests in a network namespace",
}
/** Some distributions have no package for these. */
const RARE: Record<string, string> = {
  rtpengine: 'media behind a foreign carrier',
  linphonec: 'calls with Linphone',
}
const leftOut: string[] = []
const leaveOut = (program: string, tests: string, why = 'not installed, and only root can install it here') =>
  void leftOut.push(`without ${program} (${why}): ${tests}`)

const missing = await ensurePrograms([...Object.keys(TESTED_WITH), 'python3', 'pip3'], reporter)
const isOurs = (program: string) => program in TESTED_WITH
if (process.getuid?.() === 0 && onPath('apt-get') && missing.some(isOurs))
  fail(`Couldn’t install these programs, which the tests need: ${missing.filter(isOurs).join(', ')}.`)
for (const program of missing.filter(isOurs)) leaveOut(program, TESTED_WITH[program]!)
if (process.getuid?.() !== 0 && !missing.includes('tcpdump'))
  leaveOut('root', TESTED_WITH['tcpdump']!, 'only root may capture packets')
for (const program of await ensurePrograms(Object.keys(RARE), reporter))
  leaveOut(program, RARE[program]!, 'not installed')
const noRedis = await ensureRedis(config.cache, reporter)
if (noRedis) fail(`The tests need Redis: ${noRedis}`)
// The build takes minutes, so it runs in parallel with the following steps.
const rooms = ensureLiveKit()
const chartTools = full ? ensureChartTools() : null
const problem = await ensureModels(config.cache, reporter)
if (problem) fail(`The tests need the speech models: ${problem}`)

const sttUnavailable = await ensureWhisper(config.cache, undefined, reporter)
if (sttUnavailable) fail(`The tests need the Russian speech-to-text model: ${sttUnavailable}`)
const embeddingUnavailable = await ensureEmbeddingModel(config.cache, reporter)
if (embeddingUnavailable) fail(`The tests need the embedding model: ${embeddingUnavailable}`)

for (const packages of [SCHEMATHESIS, LIVEKIT_CLIENT]) {
  const without = await ensurePackages(config.cache, packages, reporter)
  if (without) leaveOut(packages.name, 'examples and tests that use it', without)
}
// Optional: without it, Chromium itself renders the pages.
await ensurePrograms(['chromium-headless-shell'], reporter)
if (!(await ensureChromium(reporter))) leaveOut('Chromium', "the pages: dashboard, /talk and the browser's examples")

const unbuilt = await ensureDashboard(reporter)
if (unbuilt) fail(`Couldn’t build the dashboard: ${unbuilt}`)

if (!(await check('tsc', ['--noEmit'], 'Types'))) fail('Type check failed.')
if (!(await check('tsc', ['--noEmit', '-p', 'control/dashboard'], 'Types of the dashboard'))) fail('Type check failed.')
if (!(await check('biome', ['check', '.'], 'Lint and format')))
  fail('Lint failed. `npm run format` fixes most findings.')

await rooms
await chartTools
const args = process.argv.slice(2).filter(argument => argument !== '--full')
const { passed, failed, skipped, failures, flaky, slowest } = await runTests({ folder: config.home, args, full })
console.log('The slowest files, in seconds with their imports and hooks:')
for (const { seconds, project, file } of slowest) console.log(`${seconds.toFixed(1).padStart(7)}  ${project}  ${file}`)
for (const failure of flaky) console.log(`FLAKY (failed beside others, passed alone) ${failure}`)
for (const failure of failures) console.log(`FAILED ${failure}`)
for (const tests of leftOut) console.log(`LEFT OUT ${tests}`)
console.log(`${flaky.length} flaky`)
console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`)
process.exit(failed === 0 ? 0 : 1)

async function ensureLiveKit(): Promise<void> {
  if (findLiveKit(config.cache)) return
  const build = new AbortController()
  process.once('exit', () => build.abort())
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
  reporter.say('Building LiveKit in parallel, once (some minutes)')
  const result = await buildLiveKit(config.cache, join(config.home, 'livekit-build.log'), build.signal, reporter)
  if (typeof result === 'string') reporter.say('LiveKit is built')
  else leaveOut('LiveKit', 'WebRTC', result.missing)
}

/** Without these tools the chart is checked only as text, not as rendered. */
async function ensureChartTools(): Promise<void> {
  const build = new AbortController()
  process.once('exit', () => build.abort())
  const result = await buildChartTools(config.cache, join(config.home, 'chart-tools.log'), build.signal)
  if (typeof result === 'string') reporter.say(`Skipping chart rendering: ${result}`)
}

function check(command: string, args: string[], step: string): Promise<boolean> {
  const done = reporter.step(step)
  return new Promise(resolve => {
    const child = spawn(command, args, { stdio: ['ignore', 'inherit', 'inherit'] })
    child.once('error', error => fail(`Couldn’t start ${command}: ${error.message}`))
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
