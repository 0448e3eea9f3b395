/**
 * `npm run bench`: each figure beside a reference that was measured in the same run, or beside its bound, as a ratio.
 * `--full` takes longer; `--only control`, `campaigns`, `conversation`, `knowledge`, `rooms` or `sip` is a part of it.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { dirname } from 'node:path'
import { parseArgs } from 'node:util'
import { benchDialing } from './campaign-dialing.ts'
import { benchPace } from './campaign-pace.ts'
import { benchCampaigns } from './campaigns.ts'
import { benchControl } from './control.ts'
import { benchConversation } from './conversation.ts'
import { benchKnowledge } from './knowledge.ts'
import { benchRooms } from './rooms.ts'
import { benchSip } from './sip.ts'

export interface Line {
  name: string
  value: number
  reference: number
  unit: string
  ratio: number
  wanted: string
  ok: boolean
}

const { values: options } = parseArgs({
  options: {
    full: { type: 'boolean', default: false },
    only: { type: 'string' },
    json: { type: 'string', default: '.parley/bench.json' },
  },
})
const { full, only } = options
const tell = (text: string) => console.error(`· ${text}`)

const parts: Record<string, () => Promise<Line[]>> = {
  control: () => benchControl({ rows: 1_000_000, rounds: full ? 9 : 3, secondsARound: full ? 8 : 4, tell }),
  campaigns: async () => [
    ...(await benchCampaigns({ rounds: full ? 9 : 3, tell })),
    ...(await benchDialing({ large: 100_000, tell })),
    ...(await benchPace({ seconds: full ? 60 : 30, tell })),
  ],
  conversation: () => benchConversation({ rounds: full ? 9 : 3, tell }),
  knowledge: () => benchKnowledge({ chunks: 100_000, questions: full ? 1000 : 300, tell }),
  rooms: () => benchRooms({ rounds: full ? 9 : 3, tell }),
  sip: () => benchSip({ rounds: full ? 4 : 2, secondsARound: full ? 20 : 10, tell }),
}
if (only && !parts[only]) throw new Error(`--only ${Object.keys(parts).join(' | ')}`)
const lines: Line[] = []
for (const [name, run] of Object.entries(parts)) if (!only || only === name) lines.push(...(await run()))

const digits = (value: number) => value.toFixed(value < 100 ? 2 : 0)
console.table(
  Object.fromEntries(
    lines.map(({ name, value, reference, unit, ratio, wanted, ok }) => [
      name,
      {
        Parley: digits(value),
        reference: digits(reference),
        unit,
        ratio: digits(ratio),
        wanted,
        '': ok ? 'ok' : 'MISSED',
      },
    ]),
  ),
)
mkdirSync(dirname(options.json), { recursive: true })
writeFileSync(
  options.json,
  `${JSON.stringify({ at: new Date().toISOString(), cores: cpus().length, lines }, null, 2)}\n`,
)
