/** Lists lead searches, newest first, and the account's directories. */
import { Anchor, Button, Progress, Stack, Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { Link } from 'react-router'
import { dateTime, money, number } from '../ui/format.ts'
import { Page } from '../ui/page.tsx'
import { Answered, Empty } from '../ui/states.tsx'
import { type Column, DataTable } from '../ui/table.tsx'
import { Directories } from './directories.tsx'
import { type Job, jobsQuery } from './queries.ts'
import { JobStatus } from './status.tsx'

export default function Leads() {
  const { t } = useTranslation('leads')
  const { t: common } = useTranslation()
  const jobs = useQuery(jobsQuery)
  return (
    <Page
      title={common('nav.leads')}
      actions={
        <Button component={Link} to="/leads/new">
          {t('begin')}
        </Button>
      }
    >
      <Text maw={720}>{t('lead')}</Text>
      <Answered of={jobs}>{list => <Jobs jobs={list.items} />}</Answered>
      <Directories />
    </Page>
  )
}

function Jobs({ jobs }: { jobs: Job[] }) {
  const { t } = useTranslation('leads')
  const columns = useColumns()
  return (
    <Stack gap="xs">
      <Title order={2} size="h4">
        {t('jobs.title')}
      </Title>
      <DataTable
        label={t('jobs.title')}
        columns={columns}
        items={jobs}
        rowKey={({ id }) => id}
        empty={
          <Empty title={t('jobs.none')}>
            <Text c="dimmed">{t('jobs.noneHint')}</Text>
          </Empty>
        }
        minWidth={720}
      />
    </Stack>
  )
}

function useColumns(): Column<Job>[] {
  const { t } = useTranslation('leads')
  const { t: common } = useTranslation()
  return [
    {
      key: 'what',
      header: t('jobs.what'),
      cell: ({ id, brief_parsed: { niche, geo } }) => (
        <Anchor component={Link} inherit to={`/leads/${id}`}>
          {niche}, {geo}
        </Anchor>
      ),
    },
    { key: 'status', header: common('status'), cell: job => <JobStatus of={job} /> },
    { key: 'leads', header: t('jobs.leads'), cell: job => <Reached job={job} /> },
    { key: 'cost', header: t('jobs.cost'), align: 'right', cell: ({ cost }) => money(cost) },
    { key: 'created', header: t('jobs.created'), cell: ({ created_at }) => dateTime(created_at) },
  ]
}

function Reached({ job: { progress } }: { job: Job }) {
  const { t } = useTranslation('leads')
  const { enriched, target } = progress
  const words = t('jobs.reached', { enriched: number(enriched), target: number(target) })
  return (
    <Stack gap={4} miw={120}>
      <Text size="sm">{words}</Text>
      <Progress value={(100 * enriched) / target} size="sm" aria-label={words} />
    </Stack>
  )
}
