/** Writes the interop table into docs/interop.md: `node test/interop/table.ts`. A test checks that it matches the list. */
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { FEATURES, type Feature, PEERS, type PeerName } from './list.ts'

const BEGIN = '<!-- interop: written by test/interop/table.ts -->'
const END = '<!-- /interop -->'
export const PAGE = fileURLToPath(new URL('../../docs/interop.md', import.meta.url))

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

/** The page with the table of the list. Throws if the page has no place for it. */
export function withTable(page: string): string {
  const [before, after] = [page.indexOf(BEGIN), page.indexOf(END)]
  if (before < 0 || after < before) throw new Error(`the page has no ${BEGIN} … ${END}`)
  return `${page.slice(0, before + BEGIN.length)}\n${table()}\n${page.slice(after)}`
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(PAGE, withTable(readFileSync(PAGE, 'utf8')))
