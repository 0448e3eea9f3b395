import { Button, Group, NativeSelect, Stack, Text, TextInput, Title } from '@mantine/core'
import { useDebouncedCallback } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { type Filters, oneOf, useFilters } from '../ui/search-state.ts'
import { Answered, Empty } from '../ui/states.tsx'
import { type Column, ListTable } from '../ui/table.tsx'
import { LeadDialog } from './lead.tsx'
import { csvPath, type Job, type Lead, type LeadSelection, leadStatuses, leadsQuery } from './queries.ts'
import { Site } from './site.tsx'
import { LeadStatus } from './status.tsx'

const scores = ['25', '50', '75'] as const
const yesNo = ['true', 'false'] as const
/** Delay in ms after the last keystroke. */
const TYPED_MS = 300

function selectionOf(params: URLSearchParams): LeadSelection {
  const status = oneOf(params.get('status'), leadStatuses)
  const hasPhone = oneOf(params.get('has_phone'), yesNo)
  const score = oneOf(params.get('min_score'), scores)
  const q = params.get('q')?.slice(0, 200)
  return {
    ...(status && { status }),
    ...(hasPhone && { has_phone: hasPhone === 'true' }),
    ...(score && { min_score: Number(score) }),
    ...(q && { q }),
  }
}

export function LeadList({ job }: { job: Job }) {
  const { t } = useTranslation('leads')
  const filters = useFilters()
  const { params, offset, set } = filters
  const selection = selectionOf(params)
  const leads = useQuery(leadsQuery(job.id, selection, offset))
  const [opened, setOpened] = useState<Lead | null>(null)
  const columns = useColumns(setOpened)
  return (
    <Stack gap="sm">
      <Group justify="space-between">
        <Title order={2} size="h4">
          {t('list.title')}
        </Title>
        <Button component="a" href={csvPath(job.id, selection)} download variant="default" size="compact-md">
          {t('list.csv')}
        </Button>
      </Group>
      <FilterBar filters={filters} />
      <Answered of={leads}>
        {list => (
          <ListTable
            label={t('list.title')}
            columns={columns}
            list={list}
            rowKey={({ id }) => id}
            empty={<Empty title={t('list.none')} />}
            onOffset={next => set({ offset: String(next) })}
            minWidth={860}
          />
        )}
      </Answered>
      {opened && <LeadDialog lead={opened} onClose={() => setOpened(null)} />}
    </Stack>
  )
}

function FilterBar({ filters: { params, set } }: { filters: Filters }) {
  const { t } = useTranslation('leads')
  const { t: common } = useTranslation()
  const search = useDebouncedCallback((q: string) => set({ q }), TYPED_MS)
  const select = (name: string, label: string, options: { value: string; label: string }[]) => (
    <NativeSelect
      label={label}
      data={[{ value: '', label: common('all') }, ...options]}
      value={options.some(({ value }) => value === params.get(name)) ? params.get(name)! : ''}
      onChange={({ currentTarget }) => set({ [name]: currentTarget.value })}
    />
  )
  return (
    <Group align="flex-end">
      <TextInput
        type="search"
        label={common('search')}
        placeholder={t('list.searchHint')}
        maxLength={200}
        defaultValue={params.get('q') ?? ''}
        onChange={({ currentTarget }) => search(currentTarget.value)}
      />
      {select(
        'status',
        common('status'),
        leadStatuses.map(value => ({ value, label: t(`leadStatuses.${value}`) })),
      )}
      {select('has_phone', t('list.hasPhone'), [
        { value: 'true', label: common('yes') },
        { value: 'false', label: common('no') },
      ])}
      {select(
        'min_score',
        t('list.minScore'),
        scores.map(value => ({ value, label: t('list.from', { score: value }) })),
      )}
    </Group>
  )
}

function useColumns(open: (lead: Lead) => void): Column<Lead>[] {
  const { t } = useTranslation('leads')
  const { t: common } = useTranslation()
  return [
    {
      key: 'company',
      header: t('list.company'),
      cell: lead => (
        <Button
          variant="subtle"
          size="compact-sm"
          h="auto"
          px={0}
          justify="flex-start"
          onClick={() => open(lead)}
          aria-label={t('list.openOne', { company: lead.company })}
          styles={{ label: { whiteSpace: 'normal', textAlign: 'left' } }}
        >
          {lead.company}
        </Button>
      ),
    },
    { key: 'status', header: common('status'), cell: lead => <Standing lead={lead} /> },
    { key: 'score', header: t('list.score'), align: 'right', cell: ({ score }) => score ?? '—' },
    { key: 'phone', header: t('list.phone'), cell: ({ phone }) => phone ?? '—' },
    { key: 'website', header: t('list.website'), cell: ({ website }) => <Site address={website} /> },
    { key: 'signals', header: t('list.signals'), cell: lead => <Signals of={lead} /> },
  ]
}

function Standing({ lead }: { lead: Lead }) {
  const { t } = useTranslation('leads')
  return (
    <>
      <LeadStatus of={lead} />
      {lead.rejection && (
        <Text size="xs" c="dimmed">
          {t(`rejections.${lead.rejection.code}`)}
        </Text>
      )}
    </>
  )
}

function Signals({ of: { signals } }: { of: Lead }) {
  const present = signals.filter(one => one.present).map(({ signal }) => signal)
  return present.length === 0 ? '—' : <Text size="sm">{present.join(', ')}</Text>
}
