/** Runs the tests: both projects of test/vitest.config.ts side by side, and what failed in them once more, alone. */
import { spawn } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { setPriority } from 'node:os'
import { join, relative } from 'node:path'

export interface Outcome {
  passed: number
  failed: number
  skipped: number
  /** One text each: a failed test with the first lines of its reason. */
  failures: string[]
  /** Failed beside other tests, passed alone: faults of the tests or of ours under load, to be looked into. */
  flaky: string[]
}

interface Options {
  /** Where the runner's reports go. */
  folder: string
  /** Passed on to the runner. */
  args: string[]
  /** The long form of the tests that have one. */
  full: boolean
}

interface Lane {
  passed: number
  skipped: number
  failures: Failure[]
  /** What was not printed while it ran: two at once would be told in each other's lines. */
  output: string
}

interface Failure {
  file: string
  /** Null: the file itself could not be loaded or set up; its tests did not run. */
  test: string | null
  reason: string
}

/** More than these are no accident of the load, and would take long alone. */
const MOST_ACCIDENTS = 8

export async function runTests(options: Options): Promise<Outcome> {
  rmSync(compiledIn(options.folder), { recursive: true, force: true }) // by the sources of another time
  const lanes = await Promise.all([runLane('calls', 'told', options), runLane('parts', 'kept', options)])
  for (const { output } of lanes) process.stdout.write(output)
  const failures = lanes.flatMap(lane => lane.failures)
  const outcome = {
    passed: lanes.reduce((sum, lane) => sum + lane.passed, 0),
    failed: failures.length,
    skipped: lanes.reduce((sum, lane) => sum + lane.skipped, 0),
    failures: failures.map(told),
    flaky: [],
  }
  // Who names files or tests sees to them one by one.
  if (failures.length === 0 || failures.length > MOST_ACCIDENTS || options.args.length > 0) return outcome
  return judgeAlone(failures, outcome, options)
}

async function judgeAlone(failures: Failure[], outcome: Outcome, options: Options): Promise<Outcome> {
  const files = [...new Set(failures.map(({ file }) => file))]
  if (files.includes('')) return outcome
  console.log(`Failed beside the others, so once more alone: ${files.join(', ')}`)
  const again = await runLane('alone', 'told', { ...options, args: files })
  const still = (failure: Failure) =>
    again.failures.some(({ file, test }) => file === failure.file && (test === failure.test || test === null))
  // A file that could not be loaded has tests that were not counted.
  const unloaded = failures.filter(failure => failure.test === null && !still(failure))
  const fresh = again.failures.filter(one => !failures.some(({ file, test }) => file === one.file && test === one.test))
  const kept = [...failures.filter(still), ...fresh]
  const recovered = failures.filter(failure => !still(failure))
  return {
    passed: outcome.passed + recovered.length - unloaded.length,
    failed: kept.length,
    skipped: outcome.skipped,
    failures: kept.map(told),
    flaky: recovered.map(told),
  }
}

/** One of the projects of test/vitest.config.ts, or all for `alone`, in a process of its own. */
async function runLane(name: string, output: 'told' | 'kept', { folder, args, full }: Options): Promise<Lane> {
  const report = join(folder, `test-report-${name}.json`)
  rmSync(report, { force: true })
  const command = [
    ...['run', '--config', 'test/vitest.config.ts', '--passWithNoTests'],
    ...(name === 'alone' ? [] : ['--project', name]),
    ...['--reporter=default', '--reporter=json', `--outputFile.json=${report}`],
    ...args,
  ]
  const kept: string[] = []
  const code = await vitest(
    command,
    { full, behind: name === 'parts', compiled: compiledIn(folder) },
    output === 'kept' ? text => kept.push(text) : undefined,
  )
  const result = readReport(report)
  const failures = result.testResults.flatMap(failuresOf)
  // An error outside of every test has no file in the report.
  if (code !== 0 && failures.length === 0)
    failures.push({ file: '', test: null, reason: `The runner ended with ${code}; its output says why.` })
  const skipped = result.numPendingTests + result.numTodoTests
  return { passed: result.numPassedTests, skipped, failures, output: kept.join('') }
}

interface Report {
  numPassedTests: number
  numPendingTests: number
  numTodoTests: number
  testResults: FileReport[]
}

interface FileReport {
  name: string
  status: string
  message: string
  assertionResults: { fullName: string; status: string; failureMessages: string[] | null }[]
}

function failuresOf({ name, status, message, assertionResults }: FileReport): Failure[] {
  const failed = assertionResults.filter(test => test.status === 'failed')
  const file = relative(process.cwd(), name)
  if (failed.length === 0) return status === 'failed' ? [{ file, test: null, reason: message }] : []
  return failed.map(test => ({ file, test: test.fullName, reason: test.failureMessages?.join('\n') ?? '' }))
}

/** With the first lines of the reason, and none of the runner's own. */
function told({ file, test, reason }: Failure): string {
  const lines = reason.split('\n').filter(line => !line.includes('node_modules'))
  const first = lines.slice(0, 12).map(line => `  ${line.slice(0, 300)}`)
  return [[file, test].filter(Boolean).join(' > '), ...first].join('\n')
}

function readReport(file: string): Report {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Report
  } catch {
    return { numPassedTests: 0, numPendingTests: 0, numTodoTests: 0, testResults: [] }
  }
}

interface Run {
  full: boolean
  /** Whole calls are of the moment, and go before it where both want the processor. */
  behind: boolean
  /** Where Node keeps what it compiled: tests start our programs hundreds of times. */
  compiled: string
}

const BEHIND = 10
const compiledIn = (folder: string) => join(folder, 'test-compiled')

/** `keep` gets its output instead of the terminal. */
function vitest(args: string[], { full, behind, compiled }: Run, keep?: (text: string) => void): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn('vitest', args, {
      stdio: keep ? ['ignore', 'pipe', 'pipe'] : ['ignore', 'inherit', 'inherit'],
      env: { ...process.env, PARLEY_TEST_FULL: full ? '1' : '0', NODE_COMPILE_CACHE: compiled },
    })
    if (behind && child.pid !== undefined) setPriority(child.pid, BEHIND)
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', text => keep?.(String(text)))
    child.once('error', reject)
    child.once('close', exit => resolve(exit ?? 1))
  })
}
