/** `npm run simulate -- scenario.yaml…`: calls an agent as its scenarios want, and tells whether it did as they expect. */
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { createLog } from '../log.ts'
import { createSafeFetch } from '../safe-fetch.ts'
import { judge, junit, type Result, transcript } from './judge.ts'
import { parseScenario, type Scenario, ScenarioError } from './scenario.ts'
import { runText } from './text.ts'

const USAGE = `Usage: npm run simulate -- <scenario.yaml or folder>… [--junit <file.xml>] [--verbose]

  --junit     writes the results as JUnit XML
  --verbose   prints every transcript, not only those of failed scenarios

Exit code 0: all as expected; 1: not; 2: a scenario cannot be read. Examples: examples/scenarios.`

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    junit: { type: 'string' },
    verbose: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})
if (values.help || positionals.length === 0) {
  console.log(USAGE)
  process.exit(values.help ? 0 : 2)
}

const filesOf = (path: string): string[] =>
  statSync(path, { throwIfNoEntry: false })?.isDirectory()
    ? readdirSync(path)
        .filter(name => /\.ya?ml$/.test(name))
        .sort()
        .map(name => join(path, name))
    : [path]

try {
  const scenarios = positionals.flatMap(filesOf).map(file => ({ file, scenario: read(file) }))
  const results: Result[] = []
  for (const { file, scenario } of scenarios) results.push(await run(file, scenario))
  if (values.junit) writeFileSync(values.junit, junit(results))
  const failed = results.filter(result => result.failures.length > 0).length
  console.log(`\n${results.length - failed} of ${results.length} scenarios as expected`)
  process.exit(failed === 0 ? 0 : 1)
} catch (error) {
  if (!(error instanceof ScenarioError)) throw error
  console.error(error.message)
  process.exit(2)
}

function read(file: string): Scenario {
  try {
    return parseScenario(file, readFileSync(file, 'utf8'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') throw new ScenarioError(`${file}: there is no such file`)
    throw error
  }
}

async function run(file: string, scenario: Scenario): Promise<Result> {
  const startedAt = performance.now()
  const result: Result = { name: scenario.name, file, mode: scenario.mode, seconds: 0, outcome: null, failures: [] }
  try {
    if (scenario.mode === 'audio') throw new ScenarioError(`${file}: audio mode is not built yet`)
    const log = createLog('simulate', 'error')
    result.outcome = await runText(scenario, { fetch: createSafeFetch({ allow: [] }), log, env: process.env })
    result.failures = judge(scenario.expect, result.outcome)
  } catch (error) {
    if (error instanceof ScenarioError) throw error
    result.failures = [`it broke off: ${(error as Error).message}`]
  }
  result.seconds = (performance.now() - startedAt) / 1000
  show(result)
  return result
}

function show({ name, seconds, failures, outcome }: Result): void {
  const p95 = outcome?.p95Ms ? `, answers within ${outcome.p95Ms} ms` : ''
  console.log(`${failures.length === 0 ? 'ok  ' : 'FAIL'} ${name}  (${seconds.toFixed(1)} s${p95})`)
  for (const failure of failures) console.log(`       ${failure}`)
  if (outcome && (values.verbose || failures.length > 0)) console.log(transcript(outcome).replace(/^/gm, '       | '))
}
