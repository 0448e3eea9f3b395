/** Form model of the retention periods. The number of days is kept while "no limit" is selected. */
import type { Schemas } from '../api/types.ts'

type Given = Schemas['Retention']

export const kinds = ['recordings', 'transcripts', 'phones'] as const
export type Kind = (typeof kinds)[number]

interface Term {
  limited: boolean
  /** Empty string if the input is not a number. */
  days: number | ''
}
export type Values = Record<Kind, Term>

export const MOST_DAYS = 3650
const FIRST_OFFER = 90

const map = <T>(of: (kind: Kind) => T) => Object.fromEntries(kinds.map(kind => [kind, of(kind)])) as Record<Kind, T>

export function valuesOf(given: Given): Values {
  return map(kind => {
    const days = given[`${kind}_days`]
    return { limited: days !== null, days: days ?? FIRST_OFFER }
  })
}

/** Null means no limit. */
const daysOf = ({ limited, days }: Term): number | null => (limited && days !== '' ? days : null)

export function patchOf(values: Values): Given {
  const { recordings, transcripts, phones } = values
  return {
    recordings_days: daysOf(recordings),
    transcripts_days: daysOf(transcripts),
    phones_days: daysOf(phones),
  }
}

const FOR_EVER = Number.POSITIVE_INFINITY

/** Returns the kinds whose period becomes shorter, so that saving deletes data. */
export function shortenedBy(given: Given, values: Values): { kind: Kind; days: number }[] {
  return kinds.flatMap(kind => {
    const days = daysOf(values[kind])
    return days !== null && days < (given[`${kind}_days`] ?? FOR_EVER) ? [{ kind, days }] : []
  })
}

/** Whether numbers are deleted before other data, so that an erasure by number would miss the rest. */
export function numbersGoFirst(values: Values): boolean {
  const { phones, recordings, transcripts } = map(kind => daysOf(values[kind]) ?? FOR_EVER)
  return phones < recordings || phones < transcripts
}
