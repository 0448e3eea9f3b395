/**
 * Runs the three projects of test/vitest.config.ts: the end-to-end tests, and in parallel, at a lower priority, the
 * unit tests and then the integration tests. Failed files run once more, alone.
 */
import { spawn } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { setPriority } from 'node:os'
import { join, relative } from 'node:path'
import { type FileTime, overBudget, PROJECTS, type ProjectName } from './test-budgets.ts'
import { FULL_ONLY } from './test-selection.ts'

export interface RunResult {
  passed: number
  failed: number
  skipped: number
  /** One text per failed test, with the first lines of its reason. */
  failures: string[]
  /** Tests that failed in parallel and passed alone: faults of the tests or of the product under load. */
  flaky: string[]
  /** The slowest files first, with their seconds. */
  slowest: FileTime[]
}

interface Options {
  /** Directory of the reports. */
  folder: string
  /** Arguments passed to vitest. */
  args: string[]
  /** Runs the long form of tests that have one. */
  full: boolean
}

interface ProjectRun {
  passed: number
  skipped: number
  failures: Failure[]
  times: FileTime[]
  /** Printed later, because the output of two parallel runs would be interleaved. */
  output: string
}

interface Failure {
  file: string
  /** Null when the file itself could not be loaded or set up; its tests did not run. */
  test: string | null
  reason: string
}

/** Most failures that are repeated: more than that have a common cause. */
const MOST_REPEATED = 8
const SLOWEST = 20

export async function runTests(options: Options): Promise<RunResult> {
  // Stale entries accumulate, because the cache is keyed by the content of each source file.
  rmSync(compileCache(options.folder), { recursive: true, force: true })
  const wanted = await projectsWith(options)
  const run = (project: ProjectName) => runProject(project, project === 'e2e' ? 'shown' : 'kept', options)
  const inTurn = async (projects: readonly ProjectName[]) => {
    const done: ProjectRun[] = []
    for (const project of projects.filter(name => wanted.includes(name))) {
      const result = await run(project)
      process.stdout.write(result.output)
      done.push(result)
    }
    return done
  }
  const runs = (await Promise.all([inTurn(['e2e']), inTurn(['unit', 'integration'])])).flat()
  const failures = runs.flatMap(run => run.failures)
  if (wanted.length === 0) failures.push({ file: '', test: null, reason: 'No test file matches the arguments.' })
  const times = runs.flatMap(run => run.times)
  // Budgets apply to the short form, with all files of a project.
  const slow = options.full || options.args.length > 0 ? [] : overBudget(times)
  const outcome: RunResult = {
    passed: runs.reduce((sum, run) => sum + run.passed, 0),
    failed: failures.length + slow.length,
    skipped: runs.reduce((sum, run) => sum + run.skipped, 0),
    failures: [...failures.map(described), ...slow],
    flaky: [],
    slowest: times.toSorted((a, b) => b.seconds - a.seconds).slice(0, SLOWEST),
  }
  // With arguments the caller examines files or tests one by one.
  if (failures.length === 0 || failures.length > MOST_REPEATED || options.args.length > 0) return outcome
  return repeatAlone(failures, slow, outcome, options)
}

async function repeatAlone(
  failures: Failure[],
  slow: string[],
  outcome: RunResult,
  options: Options,
): Promise<RunResult> {
  const files = [...new Set(failures.map(({ file }) => file))]
  if (files.includes('')) return outcome
  console.log(`Repeating failed tests alone: ${files.join(', ')}`)
  const again = await runProject('alone', 'shown', { ...options, args: files })
  const still = (failure: Failure) =>
    again.failures.some(({ file, test }) => file === '' || (file === failure.file && (test === failure.test || !test)))
  // Tests of a file that could not be loaded were not counted.
  const unloaded = failures.filter(failure => failure.test === null && !still(failure))
  const fresh = again.failures.filter(one => !failures.some(({ file, test }) => file === one.file && test === one.test))
  const kept = [...failures.filter(still), ...fresh]
  const recovered = failures.filter(failure => !still(failure))
  return {
    ...outcome,
    passed: outcome.passed + recovered.length - unloaded.length,
    failed: kept.length + slow.length,
    failures: [...kept.map(described), ...slow],
    flaky: recovered.map(described),
  }
}

/** Returns all projects, or those of the files that the arguments name. */
async function projectsWith({ args, full, folder }: Options): Promise<readonly ProjectName[]> {
  if (args.length === 0) return PROJECTS
  const command = ['list', '--config', 'test/vitest.config.ts', '--filesOnly', ...args]
  const kept: string[] = []
  await vitest(command, { full, background: false, folder, report: '' }, text => kept.push(text))
  const listed = kept.join('')
  return PROJECTS.filter(project => listed.includes(`[${project}] `))
}

/** Runs one project in its own process, or the named files of all projects (`alone`). */
async function runProject(
  name: ProjectName | 'alone',
  output: 'shown' | 'kept',
  options: Options,
): Promise<ProjectRun> {
  const { folder, args, full } = options
  const report = join(folder, `test-report-${name}.json`)
  rmSync(report, { force: true })
  const command = [
    ...['run', '--config', 'test/vitest.config.ts'],
    ...(name === 'alone' ? [] : ['--project', name]),
    ...['--reporter=default', '--reporter=test/support/run-report.ts'],
    ...(full || args.length > 0 ? args : Object.keys(FULL_ONLY).map(file => `--exclude=${file}`)),
  ]
  const kept: string[] = []
  const code = await vitest(
    command,
    { full, background: output === 'kept', folder, report },
    output === 'kept' ? text => kept.push(text) : undefined,
  )
  const { files, errors } = readReport(report)
  const failures = files.flatMap(failuresOf)
  const states = files.flatMap(({ tests }) => tests.map(({ state }) => state))
  const outside = (reason: string) => failures.push({ file: '', test: null, reason: `${name}: ${reason}` })
  for (const error of errors) {
    const file = crashedFile(error)
    if (file === null) outside(error)
    else failures.push({ file, test: null, reason: error })
  }
  if (states.length === 0 && failures.length === 0) outside('no test ran; see the output of the set-up.')
  if (code !== 0 && failures.length === 0) outside(`vitest exited with status ${code}; see its output.`)
  return {
    passed: states.filter(state => state === 'passed').length,
    skipped: states.filter(state => state === 'skipped' || state === 'pending').length,
    failures,
    times: files.map(({ file, project, seconds }) => ({ file, project, seconds })),
    output: kept.join(''),
  }
}

/** The file whose worker process crashed, which vitest reports outside all files; null for any other error. */
export function crashedFile(error: string): string | null {
  const path = /Worker exited unexpectedly .* while running test file (\S+)/.exec(error)?.[1]
  return path === undefined ? null : relative(process.cwd(), path)
}

/** The format of test/support/run-report.ts. */
interface Report {
  files: FileReport[]
  errors: string[]
}

interface FileReport {
  file: string
  project: ProjectName
  seconds: number
  errors: string[]
  tests: { name: string; state: string; reason: string }[]
}

function failuresOf({ file, errors, tests }: FileReport): Failure[] {
  const failed = tests.filter(({ state }) => state === 'failed')
  const broken = errors.length > 0 ? [{ file, test: null, reason: errors.join('\n') }] : []
  return [...broken, ...failed.map(({ name, reason }) => ({ file, test: name, reason }))]
}

/** Returns the name of the test with the first lines of the reason, without stack frames of vitest. */
function described({ file, test, reason }: Failure): string {
  const lines = reason.split('\n').filter(line => !line.includes('node_modules'))
  const first = lines.slice(0, 12).map(line => `  ${line.slice(0, 300)}`)
  return [[file, test].filter(Boolean).join(' > '), ...first].join('\n')
}

function readReport(file: string): Report {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Report
  } catch {
    return { files: [], errors: [] }
  }
}

interface Run {
  full: boolean
  /** Runs at a lower priority, because end-to-end tests are paced by real time. */
  background: boolean
  folder: string
  /** The file that test/support/run-report.ts writes. */
  report: string
}

const BACKGROUND = 10
/** Node's compile cache: tests start the product's programs hundreds of times. */
const compileCache = (folder: string) => join(folder, 'test-compiled')

/** `keep` receives the output in place of the terminal. */
function vitest(args: string[], run: Run, keep?: (text: string) => void): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn('vitest', args, {
      stdio: keep ? ['ignore', 'pipe', 'pipe'] : ['ignore', 'inherit', 'inherit'],
      env: {
        ...process.env,
        PARLEY_TEST_FULL: run.full ? '1' : '0',
        PARLEY_TEST_REPORT: run.report,
        NODE_COMPILE_CACHE: compileCache(run.folder),
      },
    })
    if (run.background && child.pid !== undefined) setPriority(child.pid, BACKGROUND)
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', text => keep?.(String(text)))
    child.once('error', reject)
    child.once('close', exit => resolve(exit ?? 1))
  })
}
