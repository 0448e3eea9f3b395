/** Writes the interop table into the README: `node test/interop/table.ts`. A test holds that it is there as the list has it. */
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { FEATURES, type Feature, PEERS, type PeerName } from './list.ts'

const BEGIN = '<!-- interop: written by test/interop/table.ts -->'
const END = '<!-- /interop -->'
export const README = fileURLToPath(new URL('../../README.md', import.meta.url))

export function table(): string {
  const features = Object.keys(FEATURES) as Feature[]
  const names = Object.keys(PEERS) as PeerName[]
  const reasons: string[] = []
  const mark = (name: PeerName, feature: Feature): string => {
    const why = (PEERS[name].not as Partial<Record<Feature, string>>)[feature]
    if (why === undefined) return '✓'
    const at = reasons.indexOf(why)
    return `– ${at < 0 ? reasons.push(why) : at + 1}`
  }
  const rows = names.map(name => [PEERS[name].name, ...features.map(feature => mark(name, feature))])
  const lines = [['', ...features], ['---', ...features.map(() => '---')], ...rows]
  return [
    lines.map(cells => `| ${cells.join(' | ')} |`).join('\n'),
    `✓: tested. ${reasons.map((why, i) => `– ${i + 1}: ${why}.`).join(' ')}`,
    ...[features.map(feature => `- **${feature}**: ${FEATURES[feature]}.`).join('\n')],
  ].join('\n\n')
}

/** The README with the table as it should be. Throws when it has no place for it. */
export function withTable(readme: string): string {
  const [before, after] = [readme.indexOf(BEGIN), readme.indexOf(END)]
  if (before < 0 || after < before) throw new Error(`the README has no ${BEGIN} … ${END}`)
  return `${readme.slice(0, before + BEGIN.length)}\n${table()}\n${readme.slice(after)}`
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(README, withTable(readFileSync(README, 'utf8')))
