/** The page of one lead search: progress, leads and actions. */
import { Alert, Anchor, Button, Group, List, Paper, Progress, SimpleGrid, Stack, Text, Title } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { Link, useParams } from 'react-router'
import { api } from '../api/client.ts'
import { useEvents } from '../api/events.ts'
import { must } from '../api/queries.ts'
import { Confirm } from '../ui/confirm.tsx'
import { dateTime, money, number } from '../ui/format.ts'
import { Page } from '../ui/page.tsx'
import { oneOf } from '../ui/search-state.ts'
import { Answered } from '../ui/states.tsx'
import { DeleteSearch } from './delete.tsx'
import { LeadList } from './lead-list.tsx'
import { isOver, type Job, jobQuery } from './queries.ts'
import { useSourceName } from './sources.tsx'
import { JobStatus } from './status.tsx'
import { ToCampaign } from './to-campaign.tsx'

const eventTypes = ['lead_search.progress', 'lead_search.ended'] as const
type JobEvent = Pick<Job, 'status' | 'end_reason' | 'progress' | 'cost' | 'problems' | 'error'> & {
  type: (typeof eventTypes)[number]
}

export default function JobPage() {
  const { jobId = '' } = useParams()
  const job = useQuery(jobQuery(jobId))
  useLiveJob(job.data)
  return <Answered of={job}>{found => <OneJob job={found} />}</Answered>
}

/** Updates the cached search from its event stream until it ends. */
function useLiveJob(job: Job | undefined): void {
  const client = useQueryClient()
  const path = job === undefined || isOver(job) ? null : `/v1/public/lead-search/${job.id}/events`
  useEvents<JobEvent>(path, eventTypes, ({ type, ...progress }) => {
    if (job === undefined) return 'end'
    client.setQueryData(jobQuery(job.id).queryKey, known => known && { ...known, ...progress })
    client.invalidateQueries({ queryKey: ['leads', 'of', job.id] })
    if (type !== 'lead_search.ended') return undefined
    // The final state has fields that the stream does not carry.
    client.invalidateQueries({ queryKey: jobQuery(job.id).queryKey })
    client.invalidateQueries({ queryKey: ['leads', 'jobs'] })
    client.invalidateQueries({ queryKey: ['balance'] })
    return 'end'
  })
}

function OneJob({ job }: { job: Job }) {
  const { t } = useTranslation('leads')
  const { niche, geo } = job.brief_parsed
  return (
    <Page title={`${niche}, ${geo}`} actions={isOver(job) ? <Over job={job} /> : <Cancel job={job} />}>
      <Anchor component={Link} to="/leads" size="sm">
        {t('back')}
      </Anchor>
      <Standing job={job} />
      <Troubles job={job} />
      <LeadList job={job} />
      <BriefOf job={job} />
    </Page>
  )
}

function Over({ job }: { job: Job }) {
  return (
    <>
      <ToCampaign job={job} />
      <DeleteSearch job={job} />
    </>
  )
}

function Standing({ job }: { job: Job }) {
  const { t } = useTranslation('leads')
  const { progress, cost, estimate, end_reason, campaign_id } = job
  const { found, enriched, rejected, target } = progress
  const facts = { found, enriched, rejected }
  return (
    <Paper withBorder p="md">
      <Stack gap="sm">
        <Group justify="space-between" aria-live="polite">
          <Group gap="xs">
            <JobStatus of={job} />
            {end_reason && <Text size="sm">{t(`ends.${end_reason}`)}</Text>}
          </Group>
          <Text size="sm">{t('jobs.reached', { enriched: number(enriched), target: number(target) })}</Text>
        </Group>
        <Progress value={(100 * enriched) / target} aria-label={t('progress')} animated={!isOver(job)} />
        <SimpleGrid cols={{ base: 2, sm: 4 }}>
          {(['found', 'enriched', 'rejected'] as const).map(name => (
            <Fact key={name} name={t(`facts.${name}`)} value={number(facts[name])} />
          ))}
          <Fact name={t('facts.cost')} value={t('facts.of', { cost: money(cost), most: money(estimate.total) })} />
        </SimpleGrid>
        {campaign_id && (
          <Anchor component={Link} to={`/campaigns/${campaign_id}`} size="sm">
            {t('campaign.made')}
          </Anchor>
        )}
      </Stack>
    </Paper>
  )
}

function Fact({ name, value }: { name: string; value: string }) {
  return (
    <div>
      <Text size="sm" c="dimmed">
        {name}
      </Text>
      <Text fw={600}>{value}</Text>
    </div>
  )
}

const sourceProblems = ['unreachable', 'overloaded', 'bad_answer', 'unknown_area', 'unknown_niche', 'internal'] as const

/** Shows why the search failed, or which sources failed. */
function Troubles({ job: { error, problems } }: { job: Job }) {
  const { t } = useTranslation('leads')
  const nameOf = useSourceName()
  const say = (code: string, message: string) => {
    const known = oneOf(code, sourceProblems)
    return known ? t(`problems.${known}`) : message
  }
  if (error === null && problems.length === 0) return null
  return (
    <Alert color={error === null ? 'orange' : 'red'} variant="outline" role="status" title={t('problems.title')}>
      <List size="sm">
        {error && problems.length === 0 && <List.Item>{say(error.code, error.message)}</List.Item>}
        {problems.map(({ source, code, message }) => (
          <List.Item key={source}>
            {nameOf(source)}: {say(code, message)}
          </List.Item>
        ))}
      </List>
    </Alert>
  )
}

function Cancel({ job: { id, status } }: { job: Job }) {
  const { t } = useTranslation('leads')
  const client = useQueryClient()
  const cancel = async () => {
    const job = await must(api.POST('/v1/public/lead-search/{job_id}/cancel', { params: { path: { job_id: id } } }))
    client.setQueryData(jobQuery(id).queryKey, job)
    client.invalidateQueries({ queryKey: ['leads', 'jobs'] })
    client.invalidateQueries({ queryKey: ['balance'] })
  }
  return (
    <Confirm
      trigger={open => (
        <Button variant="default" onClick={open} disabled={status === 'canceling'}>
          {t('cancel.do')}
        </Button>
      )}
      title={t('cancel.title')}
      action={t('cancel.do')}
      onConfirm={cancel}
    >
      <Text>{t('cancel.hint')}</Text>
    </Confirm>
  )
}

const parts = ['signals', 'exclusions', 'queries'] as const

function BriefOf({ job: { brief_raw, brief_parsed, sources, created_at } }: { job: Job }) {
  const { t } = useTranslation('leads')
  const nameOf = useSourceName()
  return (
    <Paper withBorder p="md">
      <Stack gap="xs">
        <Title order={2} size="h4">
          {t('brief.wordsTitle')}
        </Title>
        <Text style={{ whiteSpace: 'pre-wrap' }}>{brief_raw}</Text>
        {parts.map(
          part =>
            brief_parsed[part].length > 0 && (
              <Text size="sm" key={part}>
                {t(`brief.fields.${part}`)}: {brief_parsed[part].join(', ')}
              </Text>
            ),
        )}
        <Text size="sm" c="dimmed">
          {t('asked', { sources: sources.map(id => nameOf(id)).join(', '), time: dateTime(created_at) })}
        </Text>
      </Stack>
    </Paper>
  )
}
