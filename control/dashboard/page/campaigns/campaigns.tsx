/** Lists campaigns with their progress and spend. */
import { Anchor, Box, Button, Group, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { Link } from 'react-router'
import { projectsQuery } from '../api/queries.ts'
import { FilterSelect } from '../ui/filter-select.tsx'
import { dateTime, money, number } from '../ui/format.ts'
import { namedOptions } from '../ui/options.ts'
import { Page } from '../ui/page.tsx'
import { oneOf, useFilters } from '../ui/search-state.ts'
import { Answered, Empty } from '../ui/states.tsx'
import { type Column, ListTable } from '../ui/table.tsx'
import { type Campaign, campaignsQuery, type Status } from './queries.ts'
import { CounterBar, doneOf, StatusBadge } from './status.tsx'

const statuses = ['draft', 'scheduled', 'running', 'paused', 'completed', 'stopped'] as const satisfies Status[]

export default function Campaigns() {
  const { t } = useTranslation('campaigns')
  const { t: common } = useTranslation()
  const { params, offset, set } = useFilters()
  const status = oneOf(params.get('status'), statuses)
  const project_id = params.get('project_id') ?? undefined
  const campaigns = useQuery(campaignsQuery({ status, project_id, offset }))
  const projects = useQuery(projectsQuery)
  const nameOf = (id: string) => projects.data?.find(project => project.id === id)?.name ?? t('goneProject')
  const filtered = status !== undefined || project_id !== undefined
  return (
    <Page
      title={t('title')}
      actions={
        <Button component={Link} to="/campaigns/new">
          {t('new')}
        </Button>
      }
    >
      <Group>
        <FilterSelect
          label={common('status')}
          any={t('anyStatus')}
          options={statuses.map(value => ({ value, label: t(`status.${value}`) }))}
          value={status}
          onSelect={status => set({ status })}
        />
        <FilterSelect
          label={t('project')}
          any={t('anyProject')}
          searchable
          options={namedOptions(projects.data ?? [])}
          value={project_id}
          onSelect={project_id => set({ project_id })}
        />
      </Group>
      <Answered of={campaigns}>
        {list => (
          <ListTable
            label={t('title')}
            columns={columnsOf(t, common, nameOf)}
            list={list}
            rowKey={({ id }) => id}
            onOffset={offset => set({ offset: String(offset) })}
            minWidth={720}
            empty={filtered ? t('noneFound') : <Empty title={t('empty')} hint={t('emptyHint')} />}
          />
        )}
      </Answered>
    </Page>
  )
}

type Words = ReturnType<typeof useTranslation<'campaigns'>>['t']
type CommonWords = ReturnType<typeof useTranslation<'words'>>['t']

const columnsOf = (t: Words, common: CommonWords, nameOf: (id: string) => string): Column<Campaign>[] => [
  {
    key: 'name',
    header: common('name'),
    cell: ({ id, name, project_id }) => (
      <Stack gap={0}>
        <Anchor component={Link} to={`/campaigns/${id}`} fw={600}>
          {name}
        </Anchor>
        <Text size="sm" c="dimmed">
          {nameOf(project_id)}
        </Text>
      </Stack>
    ),
  },
  { key: 'status', header: common('status'), cell: ({ status }) => <StatusBadge status={status} /> },
  {
    key: 'progress',
    header: t('progress'),
    cell: ({ counters }) => (
      <Box miw={160}>
        <CounterBar counters={counters} size="sm" />
        <Text size="sm" c="dimmed">
          {t('counts.done', { done: number(doneOf(counters)), total: number(counters.total) })}
        </Text>
      </Box>
    ),
  },
  { key: 'spend', header: t('spend'), align: 'right', cell: ({ spend }) => money(spend) },
  { key: 'created', header: common('created'), cell: ({ created_at }) => dateTime(created_at) },
]
