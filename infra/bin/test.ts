/** `npm test` and `npm run test:full`: installs what the tests need, then types, lint and all tests, and closes with what failed and the count. */
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

/** The long form of the tests that have one; everything else is passed on to the test runner. */
const full = process.argv.includes('--full')
const reporter = createReporter()
const config = readConfig()

/** Of the system, and what is tested with them. Where nobody may install them, `npm test` goes without. */
const TESTED_WITH: Record<string, string> = {
  sipp: 'calls with a SIP peer that is not ours',
  baresip: 'calls with a telephone that is not ours',
  tcpdump: 'what goes over the wire of a call',
  kamailio: 'a carrier that is not ours',
  openssl: "certificates, and DTLS with OpenSSL's",
  'espeak-ng': 'speaking other languages than English',
  unshare: "drachtio-srf's own tests, in a network of their own",
  ip: "drachtio-srf's own tests, in a network of their own",
}
/** Some distributions have no package of them. */
const RARE: Record<string, string> = {
  rtpengine: 'media behind a carrier that is not ours',
  linphonec: 'calls with Linphone',
}
const leftOut: string[] = []
const leaveOut = (program: string, tests: string, why = 'not installed, and only root can install it here') =>
  void leftOut.push(`without ${program} (${why}): ${tests}`)

const missing = await ensurePrograms([...Object.keys(TESTED_WITH), 'python3', 'pip3'], reporter)
const isOurs = (program: string) => program in TESTED_WITH
if (process.getuid?.() === 0 && onPath('apt-get') && missing.some(isOurs))
  fail(`These programs are needed by the tests and could not be installed: ${missing.filter(isOurs).join(', ')}.`)
for (const program of missing.filter(isOurs)) leaveOut(program, TESTED_WITH[program]!)
if (process.getuid?.() !== 0 && !missing.includes('tcpdump'))
  leaveOut('root', TESTED_WITH['tcpdump']!, 'only root may capture packets')
for (const program of await ensurePrograms(Object.keys(RARE), reporter))
  leaveOut(program, RARE[program]!, 'not installed')
const noRedis = await ensureRedis(config.cache, reporter)
if (noRedis) fail(`Redis is needed by the tests: ${noRedis}`)
// Minutes where it must be built: beside all that follows.
const rooms = ensureLiveKit()
const chartTools = full ? ensureChartTools() : null
const problem = await ensureModels(config.cache, reporter)
if (problem) fail(`The speech models are needed by the tests: ${problem}`)

const sttUnavailable = await ensureWhisper(config.cache, undefined, reporter)
if (sttUnavailable) fail(`The model for Russian is needed by the tests: ${sttUnavailable}`)
const embeddingUnavailable = await ensureEmbeddingModel(config.cache, reporter)
if (embeddingUnavailable) fail(`The embedding model is needed by the tests: ${embeddingUnavailable}`)

for (const packages of [SCHEMATHESIS, LIVEKIT_CLIENT]) {
  const without = await ensurePackages(config.cache, packages, reporter)
  if (without) leaveOut(packages.name, 'examples and tests that use it', without)
}
if (!(await ensureChromium(reporter))) leaveOut('Chromium', "the pages: dashboard, /talk and the browser's examples")

const unbuilt = await ensureDashboard(reporter)
if (unbuilt) fail(`The dashboard cannot be built: ${unbuilt}`)

if (!(await check('tsc', ['--noEmit'], 'Types'))) fail('The types do not fit.')
if (!(await check('tsc', ['--noEmit', '-p', 'control/dashboard'], 'Types of the dashboard')))
  fail('The types do not fit.')
if (!(await check('biome', ['check', '.'], 'Lint and format')))
  fail('The linter has complaints; `npm run format` mends most.')

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
  reporter.say('Building LiveKit beside all that follows, once; this takes some minutes')
  const result = await buildLiveKit(config.cache, join(config.home, 'livekit-build.log'), build.signal, reporter)
  if (typeof result === 'string') reporter.say('LiveKit is built')
  else leaveOut('LiveKit', 'WebRTC', result.missing)
}

/** Without them the chart is checked as text, not as what it becomes. */
async function ensureChartTools(): Promise<void> {
  const build = new AbortController()
  process.once('exit', () => build.abort())
  const result = await buildChartTools(config.cache, join(config.home, 'chart-tools.log'), build.signal)
  if (typeof result === 'string') reporter.say(`The chart is not rendered: ${result}`)
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
