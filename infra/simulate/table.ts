/** Markdown tables of many audio calls. Pure. */
import type { AudioOutcome } from './audio.ts'
import type { Result } from './judge.ts'
import { percentile } from './measure.ts'
import type { Scenario } from './scenario.ts'

export interface SpokenResult extends Result {
  outcome: AudioOutcome | null
  scenario: Pick<Scenario, 'language' | 'line'>
}

interface Totals {
  calls: number
  succeeded: number
  wordErrors: string
  bargeIns: number
  missed: number
  falseOnes: number
  stopped: string
  turns: number
  cutOffs: number
  unanswered: number
  outside: string
  record: string
}

export function totals(results: readonly SpokenResult[]): Totals {
  const outcomes = results.flatMap(({ outcome }) => outcome ?? [])
  const of = outcomes.map(({ outside }) => outside)
  const sum = (pick: (one: AudioOutcome['outside']) => number) => of.reduce((total, one) => total + pick(one), 0)
  const answers = of.flatMap(one => one.answers)
  const stopped = of.flatMap(({ bargeIns }) => bargeIns.stoppedMs)
  const said = sum(({ words }) => words.said)
  return {
    calls: results.length,
    succeeded: results.filter(({ failures }) => failures.length === 0).length,
    wordErrors: said === 0 ? '–' : `${((100 * sum(({ words }) => words.wrong)) / said).toFixed(1)} %`,
    bargeIns: sum(({ bargeIns }) => bargeIns.wanted),
    missed: sum(({ bargeIns }) => bargeIns.missed),
    falseOnes: sum(({ bargeIns }) => bargeIns.false),
    stopped: spread(stopped),
    turns: answers.length + sum(({ unanswered }) => unanswered),
    cutOffs: sum(({ cutOffs }) => cutOffs),
    unanswered: sum(({ unanswered }) => unanswered),
    outside: spread(answers),
    record: spread(outcomes.flatMap(({ recordMs }) => recordMs)),
  }
}

const spread = (ms: readonly number[]) => (ms.length === 0 ? '–' : `${percentile(ms, 50)} / ${percentile(ms, 95)} ms`)

const HEAD = [
  ...['calls', 'passed', 'word errors', 'barge-ins', 'missed', 'false', 'stopped after p50 / p95', 'turns'],
  ...['cut-offs', 'unanswered', 'voice to voice p50 / p95', 'in the record'],
]

const cells = (all: Totals) => [
  ...[all.calls, `${all.succeeded} (${Math.round((100 * all.succeeded) / all.calls)} %)`, all.wordErrors],
  ...[all.bargeIns, all.missed, all.falseOnes, all.stopped, all.turns, all.cutOffs, all.unanswered],
  ...[all.outside, all.record],
]

const row = (items: readonly unknown[]) => `| ${items.join(' | ')} |`

/** Markdown summary: all calls, then by language and by loss. */
export function summary(results: readonly SpokenResult[]): string {
  const lossOf = ({ scenario }: SpokenResult) => `${scenario.line.loss * 100} % loss`
  const groups = new Map<string, SpokenResult[]>([['all', [...results]]])
  for (const result of results) {
    for (const name of [result.scenario.language, lossOf(result)])
      groups.set(name, [...(groups.get(name) ?? []), result])
  }
  const lines = [...groups].map(([name, group]) => row([name, ...cells(totals(group))]))
  return [row(['', ...HEAD]), row(['---', ...HEAD.map(() => '--:')]), ...lines].join('\n')
}

/** Markdown with one row per call. */
export function details(results: readonly SpokenResult[]): string {
  const head = ['call', 'line', 'result', 'word errors', 'missed / false barge-ins', 'cut-offs', 'voice to voice p50']
  const lines = results.map(({ name, scenario: { line }, failures, outcome }) => {
    const network = [
      line.codec,
      ...(line.loss > 0 ? [`${line.loss * 100} % lost`] : []),
      ...(line.jitter_ms > 0 ? [`${line.jitter_ms} ms jitter`] : []),
      ...(line.noise_dbfs === null ? [] : [`noise ${line.noise_dbfs} dBFS`]),
    ].join(', ')
    const result = failures.length === 0 ? 'passed' : failures.map(cell).join('<br>')
    if (!outcome) return row([cell(name), network, result, '', '', '', ''])
    const { words, bargeIns, cutOffs, answers } = outcome.outside
    return row([
      ...[cell(name), network, result, `${words.wrong} of ${words.said}`],
      ...[`${bargeIns.missed} / ${bargeIns.false}`, cutOffs, percentile(answers, 50) ?? '–'],
    ])
  })
  return [row(head), row(head.map(() => '---')), ...lines].join('\n')
}

const cell = (text: string) => text.replace(/\|/g, '\\|').replace(/\s+/g, ' ').slice(0, 200)
