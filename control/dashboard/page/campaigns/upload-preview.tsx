/** Previews the upload and marks invalid rows. Rows are checked in batches, so that the page stays responsive. */
import { Group, Stack, Switch, Text } from '@mantine/core'
import { useEffect, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { number } from '../ui/format.ts'
import { readPhone } from '../ui/phone.ts'
import { DataTable } from '../ui/table.tsx'
import type { Column } from './columns.ts'
import { type Judged, judgeRow } from './entries.ts'
import type { Row } from './read-table.ts'

const AT_A_TIME = 500
const SHOWN = 10
const SHOWN_BAD = 50

interface DialDecision {
  done: number
  good: number
  bad: number
  duplicates: number
  first: Judged[]
  /** The first rows with errors. */
  worst: Judged[]
}

const nothing: DialDecision = { done: 0, good: 0, bad: 0, duplicates: 0, first: [], worst: [] }

function added(before: DialDecision, judged: readonly Judged[]): DialDecision {
  const duplicates = judged.filter(({ problem }) => problem === 'duplicate').length
  const good = judged.filter(({ problem }) => problem === null).length
  return {
    done: before.done + judged.length,
    good: before.good + good,
    duplicates: before.duplicates + duplicates,
    bad: before.bad + judged.length - good - duplicates,
    first: [...before.first, ...judged].slice(0, SHOWN),
    worst: [...before.worst, ...judged.filter(({ problem }) => problem !== null)].slice(0, SHOWN_BAD),
  }
}

function useJudgement(rows: readonly Row[], columns: readonly Column[], region: string | null): DialDecision {
  const [decided, setJudgement] = useState(nothing)
  useEffect(() => {
    let current = nothing
    let timer: ReturnType<typeof setTimeout> | undefined
    const context = { read: (text: string) => readPhone(text, region), seen: new Set<string>() }
    const next = () => {
      const slice = rows.slice(current.done, current.done + AT_A_TIME)
      current = added(
        current,
        slice.map(row => judgeRow(row, columns, context)),
      )
      setJudgement(current)
      if (current.done < rows.length) timer = setTimeout(next)
    }
    next()
    return () => clearTimeout(timer)
  }, [rows, columns, region])
  return decided
}

interface PreviewProps {
  rows: readonly Row[]
  columns: readonly Column[]
  region: string | null
}

export function Preview({ rows, columns, region }: PreviewProps) {
  const { t } = useTranslation('campaigns')
  const [onlyBad, setOnlyBad] = useState(false)
  const decided = useJudgement(rows, columns, region)
  const { done, first, worst } = decided
  const shown = onlyBad ? worst : first
  return (
    <Stack gap="xs">
      <Group gap="lg" role="status">
        {(['good', 'bad', 'duplicates'] as const).map(kind => (
          <Text key={kind} size="sm">
            {t(`upload.counts.${kind}`)}: <b>{number(decided[kind])}</b>
          </Text>
        ))}
        {done < rows.length && (
          <Text size="sm" c="dimmed">
            {t('upload.checking', { done: number(done), total: number(rows.length) })}
          </Text>
        )}
      </Group>
      <Switch
        size="sm"
        label={t('upload.onlyBad')}
        checked={onlyBad}
        onChange={event => setOnlyBad(event.currentTarget.checked)}
      />
      <DataTable
        label={t('upload.preview')}
        minWidth={560}
        items={shown}
        rowKey={({ row }) => String(row.number)}
        empty={t('upload.noBad')}
        columns={[
          { key: 'row', header: t('upload.row'), align: 'right', cell: ({ row }) => number(row.number) },
          { key: 'phone', header: t('upload.sent'), cell: judged => <Phone judged={judged} /> },
          { key: 'name', header: t('upload.roles.name'), cell: ({ entry }) => entry.name ?? '' },
          { key: 'vars', header: t('upload.vars'), cell: ({ entry }) => <Vars vars={entry.vars ?? {}} /> },
        ]}
      />
    </Stack>
  )
}

function Phone({ judged: { entry, phone, problem } }: { judged: Judged }) {
  const { t } = useTranslation('campaigns')
  return (
    <Stack gap={0}>
      <Text size="sm" fw={600}>
        {phone ?? (entry.phone || '—')}
      </Text>
      {problem !== null && (
        <Text size="xs" c="var(--mantine-color-error)">
          {t(`upload.problem.${problem}`)}
        </Text>
      )}
    </Stack>
  )
}

function Vars({ vars }: { vars: Record<string, string> }) {
  return (
    <Stack gap={0}>
      {Object.entries(vars).map(([name, value]) => (
        <Text key={name} size="xs" lineClamp={2}>
          <Text span size="xs" c="dimmed">
            {name}:{' '}
          </Text>
          {value}
        </Text>
      ))}
    </Stack>
  )
}
