/**
 * `npm run bench`: prints each figure next to a reference measured in the same run, or next to its bound, as a ratio.
 * `--full` measures longer; `--only sip,media` runs some parts; `--report FOLDER` writes the table, the curves and the
 * machine, and keeps the results of parts that did not run.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { benchDialing } from './campaign-dialing.ts'
import { benchPace } from './campaign-pace.ts'
import { benchCampaigns } from './campaigns.ts'
import { benchConversation } from './conversation.ts'
import { benchKnowledge } from './knowledge.ts'
import { machine } from './machine.ts'
import { benchMedia } from './media.ts'
import { joined, type Part, pageOf, type Report, renewed, tableOf } from './page.ts'
import { plot } from './plot.ts'
import { prepare } from './prepare.ts'
import type { BenchOptions, Line, Measured } from './report.ts'
import { benchRooms } from './rooms.ts'
import { benchRoutes } from './routes.ts'
import { cleanUpAtExit } from './scratch.ts'
import { benchSip } from './sip.ts'
import { benchCapacity } from './sip-capacity.ts'
import { benchTalkPeers } from './talk-peers.ts'

const { values: options } = parseArgs({
  options: {
    full: { type: 'boolean', default: false },
    only: { type: 'string' },
    json: { type: 'string', default: '.parley/bench.json' },
    report: { type: 'string' },
  },
})
const bench: BenchOptions = { full: options.full, report: text => console.error(`· ${text}`) }
const { full, report } = bench
const rounds = full ? 9 : 3

const parts: Record<string, (() => Promise<Measured | Line[]>)[]> = {
  sip: [() => benchSip({ rounds: full ? 4 : 2, secondsARound: full ? 20 : 10, report }), () => benchCapacity(bench)],
  media: [() => benchMedia(bench)],
  conversation: [() => benchConversation({ rounds, report })],
  peers: [() => benchTalkPeers(bench)],
  rooms: [() => benchRooms({ rounds, report })],
  control: [() => benchRoutes(bench)],
  campaigns: [
    () => benchCampaigns({ rounds, report }),
    () => benchDialing({ large: 100_000, report }),
    () => benchPace({ seconds: full ? 60 : 30, report }),
  ],
  knowledge: [() => benchKnowledge({ chunks: 100_000, questions: full ? 1000 : 300, report })],
}
cleanUpAtExit()
// Without it LiveKit's packages log for their own developers.
process.env['NODE_ENV'] ??= 'production'
const wanted = options.only?.split(',') ?? Object.keys(parts)
for (const name of wanted) if (!parts[name]) throw new Error(`--only ${Object.keys(parts).join(' | ')}`)

const started = new Date()
const measured: Omit<Part, 'run'>[] = []
for (const name of wanted) {
  const why = await prepare(name)
  const results: Measured[] = why ? [nothing(name, why)] : []
  if (!why) for (const run of parts[name]!) results.push(await runPart(name, run))
  measured.push({ name, ...joined(results) })
  // Written after each part, so that a stopped run keeps its results.
  write(options.json, jsonOf(reportNow()))
}
process.stdout.write(tableOf(reportNow()))
if (options.report) writeReport(options.report)

function reportNow(): Report {
  const minutes = Math.round((Date.now() - started.getTime()) / 60_000)
  const run = { at: started.toISOString(), minutes, full, machine: machine() }
  return measured.map(part => ({ ...part, run }))
}

function writeReport(folder: string): void {
  const file = join(folder, 'report.json')
  const before: Report = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : []
  const report = renewed(before, reportNow(), Object.keys(parts))
  write(file, jsonOf(report))
  write(join(folder, 'curves.svg'), plot(joined(report).series))
  const page = join(folder, 'README.md')
  write(page, pageOf(report, readFileSync(page, 'utf8')))
}

function jsonOf(report: Report): string {
  return `${JSON.stringify(report, null, 2)}\n`
}

/** A failed part is reported and listed in the table; the others still run. */
async function runPart(name: string, run: () => Promise<Measured | Line[]>): Promise<Measured> {
  try {
    const result = await run()
    return Array.isArray(result) ? { lines: result, series: [], unmeasured: [] } : result
  } catch (error) {
    report(`${name} broke off: ${(error as Error).stack}`)
    return nothing(name, (error as Error).message)
  }
}

function nothing(name: string, why: string): Measured {
  process.exitCode = 1
  return { lines: [], series: [], unmeasured: [{ name, why }] }
}

function write(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
}
