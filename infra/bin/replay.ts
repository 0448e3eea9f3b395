/**
 * `npm run replay -- call.jsonl`: replays a recorded call through the real conversation and reports whether the result
 * is the same; with `--prompt` or `--plan`, shows what would differ.
 */
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { CallPlan } from '../../media/contract/plan.ts'
import { createScripted } from '../../media/models/scripted/scripted.ts'
import { createTextModel } from '../../media/models/text-model.ts'
import type { Llm } from '../../media/ports/llm.ts'
import { differences } from '../../media/replay/compare.ts'
import { parseLog } from '../../media/replay/log.ts'
import { type Played, play } from '../../media/replay/player.ts'
import { systemClock } from '../adapters/clock.ts'
import { readConfig } from '../config/config.ts'

const USAGE = `Usage: npm run replay -- <call.jsonl> [--prompt <file>] [--plan <file.json>] [--times <n>]

  --prompt   Text file with a changed project prompt
  --plan     JSON file with other changes to the call's plan
  --times    Number of replays to compare (default 2)

Requests that are not in the recording go to the text model at LLM_BASE_URL, or to the scripted policy.`

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    prompt: { type: 'string' },
    plan: { type: 'string' },
    times: { type: 'string', default: '2' },
    help: { type: 'boolean', default: false },
  },
})
const [file] = positionals
if (values.help || !file) {
  console.log(USAGE)
  process.exit(values.help ? 0 : 2)
}

try {
  const log = parseLog(readFileSync(file, 'utf8'))
  const runs: Played[] = []
  for (let i = 0; i < Math.max(1, Number(values.times)); i++) runs.push(await play(log))
  const [first] = runs as [Played]
  const same = runs.every(run => run.hash === first.hash)
  for (const turn of first.turns) console.log(`${turn.role.padEnd(7)} ${turn.heard_text || turn.text}`)
  console.log(`\nReplayed ${runs.length} times, ${same ? 'identical' : 'NOT identical'}: ${first.hash}`)
  const changed = values.prompt !== undefined || values.plan !== undefined
  if (changed) await showChange(first)
  process.exit(same ? 0 : 1)

  async function showChange(before: Played): Promise<void> {
    const more: unknown = values.plan ? JSON.parse(readFileSync(values.plan, 'utf8')) : {}
    const prompt = values.prompt ? { prompt: readFileSync(values.prompt, 'utf8') } : {}
    const plan = CallPlan.parse({ ...log.header.plan, ...(more as object), ...prompt })
    const after = await play(log, { plan, llm: llm(log.header.plan) })
    console.log('\nWith the change:')
    const found = differences(before.events, after.events)
    for (const { step, before: was, after: now } of found) {
      if (was) console.log(`${String(step).padStart(3)} - ${was}`)
      if (now) console.log(`${String(step).padStart(3)} + ${now}`)
    }
    if (found.length === 0) console.log('  no difference.')
  }
} catch (error) {
  console.error((error as Error).message)
  process.exit(2)
}

function llm(plan: CallPlan): Llm {
  const { LLM_BASE_URL, LLM_MODEL, LLM_API_KEY } = readConfig()
  if (LLM_BASE_URL && LLM_MODEL) {
    return createTextModel({
      provider: 'openai_compatible',
      clock: systemClock,
      baseUrl: LLM_BASE_URL,
      model: LLM_MODEL,
      apiKey: LLM_API_KEY ?? null,
    })
  }
  return createScripted({ confirms: name => plan.tools.find(tool => tool.name === name)?.method === 'POST' })
}
