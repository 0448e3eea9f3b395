/** `npm test` and `npm run test:full`: installs what the tests need, then types, lint and all tests, and closes with the count. */
import { spawn } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { join, relative } from 'node:path'
import { readConfig } from './config.ts'
import { buildLiveKit, findLiveKit } from './embedded/livekit.ts'
import { ensureEmbeddingModel } from './embedding/model.ts'
import { ensureModels } from './models.ts'
import { createTeller, ensureChromium, ensurePrograms } from './prepare.ts'
import { ensurePackages, LIVEKIT_CLIENT, SCHEMATHESIS } from './python.ts'
import { ensureWhisper } from './whisper.ts'

/** The long form of the tests that have one; everything else is passed on to the test runner. */
const full = process.argv.includes('--full')
const teller = createTeller()
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
  teller,
)
if (missing.length > 0)
  fail(`These programs are needed by the tests and cannot be installed here: ${missing.join(', ')}.`)
for (const program of await ensurePrograms(['rtpengine', 'linphonec'], teller))
  teller.say(`${program} is not here, so the tests with it are skipped.`)
// Minutes where it must be built: beside all that follows.
const rooms = ensureLiveKit()
const problem = await ensureModels(config.cache, teller)
if (problem) fail(`The speech models are needed by the tests: ${problem}`)

const deaf = await ensureWhisper(config.cache)
if (deaf) fail(`The model for Russian is needed by the tests: ${deaf}`)
const vectorless = await ensureEmbeddingModel(config.cache, teller)
if (vectorless) fail(`The embedding model is needed by the tests: ${vectorless}`)

for (const packages of [SCHEMATHESIS, LIVEKIT_CLIENT]) {
  const without = await ensurePackages(config.cache, packages, teller)
  if (without) teller.say(`${packages.name} is not here, so its tests are skipped: ${without}`)
}
if (!(await ensureChromium(teller))) teller.say('There is no Chromium here, so the tests of the pages are skipped.')

if ((await inherit('tsc', ['--noEmit'], 'Types')) !== 0) fail('The types do not fit.')
if ((await inherit('biome', ['check', '.'], 'Lint and format')) !== 0)
  fail('The linter has complaints; `npm run format` mends most.')

await rooms
const lanes = await Promise.all([runLane('calls', 'told'), runLane('parts', 'kept')])
for (const { output } of lanes) process.stdout.write(output)
for (const { failures } of lanes) for (const failure of failures) console.log(failure)
const sum = (count: (lane: Lane) => number) => lanes.reduce((all, lane) => all + count(lane), 0)
const failed = sum(lane => lane.failed)
console.log(`${sum(lane => lane.passed)} passed, ${failed} failed, ${sum(lane => lane.skipped)} skipped`)
process.exit(failed === 0 ? 0 : 1)

interface Lane {
  passed: number
  failed: number
  skipped: number
  /** Each failed test with the first lines of its reason: the end is what people read of a long output. */
  failures: string[]
  /** What was not printed while it ran: two at once would be told in each other's lines. */
  output: string
}

/** One of the projects of test/vitest.config.ts, in a process of its own. */
async function runLane(name: string, output: 'told' | 'kept'): Promise<Lane> {
  const report = join(config.home, `test-report-${name}.json`)
  rmSync(report, { force: true })
  const command = [
    ...['run', '--config', 'test/vitest.config.ts', '--project', name, '--passWithNoTests'],
    ...['--reporter=default', '--reporter=json', `--outputFile.json=${report}`],
    ...process.argv.slice(2).filter(argument => argument !== '--full'),
  ]
  const kept: string[] = []
  const code = await inherit('vitest', command, undefined, output === 'kept' ? text => kept.push(text) : undefined)
  const result = readReport(report)
  const { numPassedTests, numFailedTests, numPendingTests, numTodoTests } = result
  return {
    failures: failuresOf(result),
    passed: numPassedTests,
    // A file that could not even be loaded is a failure although no test of it ran.
    failed: numFailedTests + (code === 0 || numFailedTests > 0 ? 0 : 1),
    skipped: numPendingTests + numTodoTests,
    output: kept.join(''),
  }
}

interface Report {
  numPassedTests: number
  numFailedTests: number
  numPendingTests: number
  numTodoTests: number
  testResults: {
    name: string
    status: string
    message: string
    assertionResults: { fullName: string; status: string; failureMessages: string[] | null }[]
  }[]
}

function failuresOf({ testResults }: Report): string[] {
  return testResults.flatMap(({ name, status, message, assertionResults }) => {
    const failed = assertionResults.filter(test => test.status === 'failed')
    const file = relative(process.cwd(), name)
    if (failed.length === 0) return status === 'failed' ? [`FAILED ${file}\n${indented(message)}`] : []
    return failed.map(test => `FAILED ${file} > ${test.fullName}\n${indented(test.failureMessages?.join('\n') ?? '')}`)
  })
}

/** The first lines, and none of the runner's own. */
function indented(text: string): string {
  const lines = text.split('\n').filter(line => !line.includes('node_modules'))
  return lines
    .slice(0, 12)
    .map(line => `  ${line.slice(0, 300)}`)
    .join('\n')
}

function readReport(file: string): Report {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Report
  } catch {
    return { numPassedTests: 0, numFailedTests: 0, numPendingTests: 0, numTodoTests: 0, testResults: [] }
  }
}

async function ensureLiveKit(): Promise<void> {
  if (findLiveKit(config.cache)) return
  const build = new AbortController()
  process.once('exit', () => build.abort())
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
  teller.say('Building LiveKit, once; this takes some minutes')
  const result = await buildLiveKit(config.cache, join(config.home, 'livekit-build.log'), build.signal)
  if (typeof result === 'string') teller.say('LiveKit is built')
  else teller.say(`LiveKit is not here (${result.missing}), so all tests of WebRTC are skipped.`)
}

/** `keep` gets its output instead of the terminal. */
function inherit(command: string, args: string[], step?: string, keep?: (text: string) => void): Promise<number> {
  const done = step ? teller.step(step) : null
  return new Promise(resolve => {
    const child = spawn(command, args, {
      stdio: keep ? ['ignore', 'pipe', 'pipe'] : ['ignore', 'inherit', 'inherit'],
      env: { ...process.env, PARLEY_TEST_FULL: full ? '1' : '0' },
    })
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', text => keep?.(String(text)))
    child.once('error', error => fail(`${command} could not be started: ${error.message}`))
    child.once('close', exit => {
      done?.(exit === 0 ? undefined : 'failed')
      resolve(exit ?? 1)
    })
  })
}

function fail(text: string): never {
  console.log(text)
  console.log('0 passed, 1 failed, 0 skipped')
  process.exit(1)
}
