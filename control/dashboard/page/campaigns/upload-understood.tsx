/** Shows how the list was interpreted, so that the user can correct it before uploading. */
import { Button, Group, SegmentedControl, Select, Stack, Switch, Text, Title } from '@mantine/core'
import { useMemo, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { number } from '../ui/format.ts'
import { Notice } from '../ui/notice.tsx'
import { useHomeRegion } from '../ui/region.ts'
import { Waiting } from '../ui/states.tsx'
import { spoken } from '../words/words.ts'
import { type Column, guessColumns, hasHeading, VARIABLE, variablesOf } from './columns.ts'
import type { Campaign } from './queries.ts'
import {
  type Delimiter,
  decode,
  delimiters,
  type Encoding,
  encodings,
  guessDelimiter,
  guessEncoding,
  type Row,
  readTable,
  TableError,
} from './read-table.ts'
import type { Job } from './sending.ts'
import type { Source } from './source.ts'
import { Columns } from './upload-columns.tsx'
import { Preview } from './upload-preview.tsx'

interface UnderstoodProps {
  campaign: Campaign
  source: Source
  onSend: (job: Job) => void
  onOther: () => void
}

interface Reading {
  encoding: Encoding | null
  delimiter: Delimiter
  rows: Row[]
  problem: TableError | null
}

/** `chosen` overrides the guessed encoding and delimiter. */
function read(source: Source, chosen: { encoding: Encoding | null; delimiter: Delimiter | null }): Reading {
  const encoding = source.name === null ? null : (chosen.encoding ?? guessEncoding(source.bytes))
  let delimiter = chosen.delimiter ?? ','
  try {
    const text = source.name === null ? source.text : decode(source.bytes, encoding!)
    delimiter = chosen.delimiter ?? guessDelimiter(text)
    return { encoding, delimiter, rows: readTable(text, delimiter), problem: null }
  } catch (error) {
    if (!(error instanceof TableError)) throw error
    return { encoding, delimiter, rows: [], problem: error }
  }
}

export function Understood({ campaign, source, onSend, onOther }: UnderstoodProps) {
  const { t } = useTranslation('campaigns')
  const [encoding, setEncoding] = useState<Encoding | null>(null)
  const [delimiter, setDelimiter] = useState<Delimiter | null>(null)
  const reading = useMemo(() => read(source, { encoding, delimiter }), [source, encoding, delimiter])
  const { rows, problem } = reading
  return (
    <Stack>
      <Group justify="space-between">
        <Title order={3} size="h5">
          {t('upload.understood')}: {source.name ?? t('upload.pasted')}
        </Title>
        <Button variant="default" size="xs" onClick={onOther}>
          {t('upload.other')}
        </Button>
      </Group>
      <Group align="flex-end">
        {reading.encoding !== null && (
          <Select
            label={t('upload.encoding')}
            data={[...encodings]}
            allowDeselect={false}
            value={reading.encoding}
            onChange={value => setEncoding(value as Encoding)}
          />
        )}
        <Select
          label={t('upload.delimiter')}
          data={delimiters.map(value => ({ value, label: t(`upload.delimiters.${names[value]}`) }))}
          allowDeselect={false}
          value={reading.delimiter}
          onChange={value => setDelimiter(value as Delimiter)}
        />
      </Group>
      {problem ? (
        <Notice color="red" role="alert">
          {t(`upload.problems.${problem.code}`, { line: number(problem.line ?? 1) })}
        </Notice>
      ) : (
        <Table key={`${reading.encoding}${reading.delimiter}`} campaign={campaign} reading={reading} onSend={onSend} />
      )}
      {rows.length === 0 && !problem && <Waiting />}
    </Stack>
  )
}

const names = { ';': 'semicolon', ',': 'comma', '\t': 'tab', '|': 'pipe' } as const

interface TableProps {
  campaign: Campaign
  reading: Reading
  onSend: (job: Job) => void
}

function Table({ campaign, reading: { rows, delimiter }, onSend }: TableProps) {
  const { t } = useTranslation('campaigns')
  const [heading, setHeading] = useState(() => hasHeading(rows))
  const [columns, setColumns] = useState(() => guessColumns(rows, heading))
  const [mode, setMode] = useState<Job['mode']>('append')
  const body = useMemo(() => (heading ? rows.slice(1) : rows), [rows, heading])
  const home = useHomeRegion(campaign.project_id)
  const ready = columns.some(({ role }) => role === 'phone') && columns.every(isNamed(columns)) && body.length > 0
  const { total } = campaign.counters
  return (
    <Stack>
      <Switch
        label={t('upload.heading')}
        checked={heading}
        onChange={event => {
          setHeading(event.currentTarget.checked)
          setColumns(guessColumns(rows, event.currentTarget.checked))
        }}
      />
      <Columns columns={columns} onChange={setColumns} />
      <Hints campaign={campaign} columns={columns} home={home} />
      {ready && home !== undefined && <Preview rows={body} columns={columns} region={home.region} />}
      {total > 0 && (
        <Group>
          <Text size="sm" id="upload-mode">
            {t('upload.mode', { count: total })}
          </Text>
          <SegmentedControl
            aria-labelledby="upload-mode"
            value={mode}
            onChange={value => setMode(value as Job['mode'])}
            data={(['append', 'replace'] as const).map(value => ({ value, label: t(`upload.modes.${value}`) }))}
          />
        </Group>
      )}
      <Group>
        <Button
          variant={total === 0 ? 'filled' : 'default'}
          disabled={!ready}
          onClick={() => onSend({ rows: body, columns, mode, delimiter })}
        >
          {t('upload.send', { count: body.length })}
        </Button>
      </Group>
    </Stack>
  )
}

/** Whether all variable names are valid and unique. */
const isNamed = (columns: readonly Column[]) => (column: Column) =>
  column.role !== 'var' ||
  (VARIABLE.test(column.variable) &&
    columns.every(other => other === column || other.role !== 'var' || other.variable !== column.variable))

interface HintsProps {
  campaign: Campaign
  columns: readonly Column[]
  home: ReturnType<typeof useHomeRegion>
}

function Hints({ campaign: { task }, columns, home }: HintsProps) {
  const { t } = useTranslation('campaigns')
  const given = columns.map(({ role, variable }) => (role === 'name' ? 'name' : role === 'var' ? variable : null))
  const missing = variablesOf(task ?? '').filter(name => !given.includes(name))
  const hasPhone = columns.some(({ role }) => role === 'phone')
  const list = new Intl.ListFormat(spoken(), { type: 'conjunction' }).format(missing.map(name => `{{${name}}}`))
  return (
    <>
      {!hasPhone && (
        <Notice color="red" role="alert">
          {t('upload.noPhone')}
        </Notice>
      )}
      {missing.length > 0 && (
        <Notice color="orange">{t('upload.missing', { count: missing.length, names: list })}</Notice>
      )}
      {home !== undefined && (
        <Text size="sm" c="dimmed">
          {home.region === null
            ? t('upload.noRegion')
            : t('upload.region', { country: countryName(home.region), number: home.number ?? '' })}
        </Text>
      )}
    </>
  )
}

const countryName = (region: string) => new Intl.DisplayNames(spoken(), { type: 'region' }).of(region) ?? region
