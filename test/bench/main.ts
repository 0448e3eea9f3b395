/** `npm run bench`: each figure beside a reference that was measured in the same run, as a ratio. `--full` takes longer. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { dirname } from 'node:path'
import { parseArgs } from 'node:util'
import { benchControl } from './control.ts'

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
  options: { full: { type: 'boolean', default: false }, json: { type: 'string', default: '.parley/bench.json' } },
})

const lines = await benchControl({
  rows: 1_000_000,
  rounds: options.full ? 9 : 3,
  secondsARound: options.full ? 8 : 4,
  tell: text => console.error(`· ${text}`),
})

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
