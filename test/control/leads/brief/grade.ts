/** Counts the labelled briefs that a reader parses correctly, field by field. */
import { findNiche } from '../../../../control/outreach/leads/vocabulary/niches.ts'
import type { Brief, ParsedBrief } from '../../../../control/outreach/leads/vocabulary/types.ts'
import { stemsOf } from '../../../../control/outreach/leads/vocabulary/words.ts'
import type { Labelled } from './labelled.ts'

export const fields = ['niche', 'geo', 'target', 'signals', 'exclusions'] as const
export type Field = (typeof fields)[number]

/** Inflection and order are no matter; one item too many, too few or cut differently is. */
const same = (found: readonly string[], wanted: readonly string[]): boolean => {
  const keys = (list: readonly string[]) => list.map(item => stemsOf(item).join(' ')).sort()
  return JSON.stringify(keys(found)) === JSON.stringify(keys(wanted))
}

export function gradeOf(label: Labelled, { brief, missing }: ParsedBrief): Record<Field, boolean> {
  return {
    niche:
      (findNiche(brief.niche)?.id ?? brief.niche) === label.niche && missing.includes('niche') === (label.niche === ''),
    geo: brief.geo === label.geo && missing.includes('geo') === (label.geo === ''),
    target: brief.target_leads === (label.target ?? 50) && missing.includes('target_leads') === (label.target === null),
    signals: same(brief.signals, label.signals),
    exclusions: same(brief.exclusions, label.exclusions),
  }
}

export interface Mistake {
  text: string
  field: Field
  brief: Brief
}

export function accuracy(labels: readonly Labelled[], read: (raw: string) => ParsedBrief) {
  const right = Object.fromEntries(fields.map(field => [field, 0])) as Record<Field, number>
  const mistakes: Mistake[] = []
  for (const label of labels) {
    const parsed = read(label.brief)
    for (const [field, ok] of Object.entries(gradeOf(label, parsed)) as [Field, boolean][]) {
      if (ok) right[field]++
      else mistakes.push({ text: label.brief, field, brief: parsed.brief })
    }
  }
  const share = Object.fromEntries(fields.map(field => [field, right[field] / labels.length])) as Record<Field, number>
  return { share, mistakes }
}
