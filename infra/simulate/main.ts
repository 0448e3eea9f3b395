/** `npm run simulate -- scenario.yaml…`: runs scenarios against agents and checks their expectations. */
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { createLog } from '../adapters/log.ts'
import { createSafeFetch } from '../adapters/safe-fetch.ts'
import { todayOf } from './audio.ts'
import { type Bench, openBench } from './bench.ts'
import { judge, junit, type Result, transcript } from './judge.ts'
import { parseScenario, type Scenario, ScenarioError } from './scenario.ts'
import { details, type SpokenResult, summary } from './table.ts'
import { runText } from './text.ts'

const USAGE = `Usage: npm run simulate -- <scenario.yaml or directory>… [options]

  --junit <file.xml>   Write results as JUnit XML
  --verbose            Print all transcripts, not only those of failures

Scenarios with "mode: audio" place real calls. They start a temporary installation, unless you name one:
  --base-url <url>     REST base URL
  --key <key>          API key with write scope
  --sip <host:port>    SIP address; its engines need FETCH_ALLOW=127.0.0.1:<tools-port>
  --tools-port <port>  Port of the tool server (default: any free port)
  --host <address>     Our address as the installation sees it (default 127.0.0.1)
  --parallel <n>       Concurrent calls (default 1)
  --table <file.md>    Write measurements as a Markdown table

Exit status: 0 all passed, 1 some failed, 2 invalid scenario or usage. Examples: examples/scenarios.`

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    junit: { type: 'string' },
    verbose: { type: 'boolean', default: false },
    'base-url': { type: 'string' },
    key: { type: 'string' },
    sip: { type: 'string' },
    'tools-port': { type: 'string', default: '0' },
    host: { type: 'string', default: '127.0.0.1' },
    parallel: { type: 'string', default: '1' },
    table: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})
if (values.help || positionals.length === 0) {
  console.log(USAGE)
  process.exit(values.help ? 0 : 2)
}

interface Entry {
  file: string
  scenario: Scenario
}

const filesOf = (path: string): string[] =>
  statSync(path, { throwIfNoEntry: false })?.isDirectory()
    ? readdirSync(path)
        .filter(name => /\.ya?ml$/.test(name))
        .sort()
        .map(name => join(path, name))
    : [path]

let bench: Bench | null = null
let stopped = false
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    stopped = true
    void stopBench().then(() => process.exit(130))
  })
}

try {
  const entries = positionals.flatMap(filesOf).map((file): Entry => ({ file, scenario: read(file) }))
  const spoken = entries.filter(({ scenario }) => scenario.mode === 'audio')
  const results: Result[] = []
  for (const entry of entries) if (entry.scenario.mode === 'text') results.push(await run(entry, inText))
  results.push(...(await runSpoken(spoken)))
  if (values.junit) writeFileSync(values.junit, junit(results))
  const failed = results.filter(result => result.failures.length > 0).length
  console.log(`\n${results.length - failed} of ${results.length} scenarios passed`)
  process.exit(failed === 0 ? 0 : 1)
} catch (error) {
  await stopBench()
  if (!(error instanceof ScenarioError)) throw error
  console.error(error.message)
  process.exit(2)
}

function read(file: string): Scenario {
  try {
    return parseScenario(file, readFileSync(file, 'utf8'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') throw new ScenarioError(`${file}: no such file`)
    throw error
  }
}

async function inText({ scenario }: Entry) {
  const log = createLog('simulate', 'error')
  const outcome = await runText(scenario, { fetch: createSafeFetch({ allow: [] }), log, env: process.env })
  return { outcome, today: scenario.today }
}

async function runSpoken(entries: readonly Entry[]): Promise<SpokenResult[]> {
  if (entries.length === 0) return []
  const lanes = Math.max(1, Number(values.parallel) || 1)
  bench = await openBench({ ...values, lanes, toolsPort: Number(values['tools-port']) })
  const { runner } = bench
  const results: SpokenResult[] = []
  const waiting = [...entries]
  const oneAfterAnother = async () => {
    for (let entry = waiting.shift(); entry; entry = waiting.shift()) {
      if (stopped) await new Promise(() => {}) // the signal handler ends the process
      const call = async ({ file, scenario }: Entry) => {
        const today = todayOf(scenario)
        return { outcome: await runner.run(file, scenario), today }
      }
      results.push({ ...(await run(entry, call)), scenario: entry.scenario } as SpokenResult)
    }
  }
  await Promise.all(Array.from({ length: lanes }, oneAfterAnother))
  await stopBench()
  const order = entries.map(({ file }) => file)
  results.sort((a, b) => order.indexOf(a.file) - order.indexOf(b.file))
  console.log(`\n${summary(results)}`)
  if (values.table) writeFileSync(values.table, `${summary(results)}\n\n${details(results)}\n`)
  return results
}

async function stopBench(): Promise<void> {
  const open = bench
  bench = null
  await open?.close()
}

async function run(
  entry: Entry,
  go: (entry: Entry) => Promise<{ outcome: NonNullable<Result['outcome']>; today: string }>,
): Promise<Result> {
  const { file, scenario } = entry
  const startedAt = performance.now()
  const result: Result = { name: scenario.name, file, mode: scenario.mode, seconds: 0, outcome: null, failures: [] }
  try {
    const { outcome, today } = await go(entry)
    result.outcome = outcome
    result.failures = judge(scenario.expect, outcome, today)
  } catch (error) {
    if (error instanceof ScenarioError) throw error
    result.failures = [`error: ${(error as Error).message}`]
  }
  result.seconds = (performance.now() - startedAt) / 1000
  if (!stopped) show(result)
  return result
}

function show({ name, seconds, failures, outcome }: Result): void {
  const p95 = outcome?.p95Ms ? `, p95 latency ${outcome.p95Ms} ms` : ''
  console.log(`${failures.length === 0 ? 'ok  ' : 'FAIL'} ${name}  (${seconds.toFixed(1)} s${p95})`)
  for (const failure of failures) console.log(`       ${failure}`)
  if (outcome && (values.verbose || failures.length > 0)) console.log(transcript(outcome).replace(/^/gm, '       | '))
}
