/** `npm test` and `npm run test:full`: installs what the tests need, then types, lint and all tests, and closes with the count. */
import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { readConfig } from './config.ts'
import { ensureModels } from './models.ts'
import { createTeller, ensurePrograms } from './prepare.ts'
import { ensureSchemathesis } from './python.ts'
import { ensureWhisper } from './whisper.ts'

/** The long form of the tests that have one; everything else is passed on to the test runner. */
const full = process.argv.includes('--full')
const teller = createTeller()
const config = readConfig()
const report = join(config.home, 'test-report.json')

const missing = await ensurePrograms(
  ['redis-server', 'sipp', 'baresip', 'espeak-ng', 'unshare', 'ip', 'tcpdump', 'python3', 'pip3'],
  teller,
)
if (missing.length > 0)
  fail(`These programs are needed by the tests and cannot be installed here: ${missing.join(', ')}.`)
const problem = await ensureModels(config.cache, teller)
if (problem) fail(`The speech models are needed by the tests: ${problem}`)

const deaf = await ensureWhisper(config.cache)
if (deaf) fail(`The model for Russian is needed by the tests: ${deaf}`)

const without = await ensureSchemathesis(config.cache, teller)
if (without) teller.say(`schemathesis is not here, so its tests are skipped: ${without}`)

if ((await inherit('tsc', ['--noEmit'], 'Types')) !== 0) fail('The types do not fit.')
if ((await inherit('biome', ['check', '.'], 'Lint and format')) !== 0)
  fail('The linter has complaints; `npm run format` mends most.')

mkdirSync(config.home, { recursive: true })
rmSync(report, { force: true })
const code = await inherit('vitest', [
  ...[
    'run',
    '--config',
    'test/vitest.config.ts',
    '--reporter=default',
    '--reporter=json',
    `--outputFile.json=${report}`,
  ],
  ...process.argv.slice(2).filter(argument => argument !== '--full'),
])
const { numPassedTests, numFailedTests, numPendingTests, numTodoTests, success } = readReport()
// A file that could not even be loaded is a failure although no test of it ran.
const failed = numFailedTests + (success || numFailedTests > 0 ? 0 : 1)
console.log(`${numPassedTests} passed, ${failed} failed, ${numPendingTests + numTodoTests} skipped`)
process.exit(code === 0 && failed === 0 ? 0 : 1)

interface Report {
  numPassedTests: number
  numFailedTests: number
  numPendingTests: number
  numTodoTests: number
  success: boolean
}

function readReport(): Report {
  try {
    return JSON.parse(readFileSync(report, 'utf8')) as Report
  } catch {
    return { numPassedTests: 0, numFailedTests: 0, numPendingTests: 0, numTodoTests: 0, success: false }
  }
}

function inherit(command: string, args: string[], step?: string): Promise<number> {
  const done = step ? teller.step(step) : null
  return new Promise(resolve => {
    const child = spawn(command, args, {
      stdio: ['ignore', 'inherit', 'inherit'],
      env: { ...process.env, PARLEY_TEST_FULL: full ? '1' : '0' },
    })
    child.once('error', error => fail(`${command} could not be started: ${error.message}`))
    child.once('exit', exit => {
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
