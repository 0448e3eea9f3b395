import { Anchor, Button, Group, Paper, Stack, Text, Title } from '@mantine/core'
import { IconDownload } from '@tabler/icons-react'
import { useTranslation } from 'react-i18next'
import { Link } from 'react-router'
import { dateTime, money, number } from '../ui/format.ts'
import type { Campaign } from './queries.ts'
import { CounterBar, CounterNumbers, doneOf, StatusBadge } from './status.tsx'

export function CampaignProgress({ campaign }: { campaign: Campaign }) {
  const { t } = useTranslation('campaigns')
  const { id, status, counters } = campaign
  return (
    <Paper withBorder p="md" component="section" aria-label={t('counts.title')}>
      <Stack>
        <Group justify="space-between">
          <Group gap="sm">
            <Title order={2} size="h4">
              {t('counts.title')}
            </Title>
            <StatusBadge status={status} />
            <Text size="sm" c="dimmed">
              <When campaign={campaign} />
            </Text>
          </Group>
          {status !== 'draft' && (
            <Group gap="xs">
              <Anchor component={Link} to={`/calls?campaign_id=${id}`} size="sm">
                {t('counts.calls')}
              </Anchor>
              <Button
                component="a"
                href={`/v1/public/campaigns/${id}/results.csv`}
                download={`${id}.csv`}
                variant="default"
                size="xs"
                leftSection={<IconDownload size={14} aria-hidden />}
              >
                {t('counts.results')}
              </Button>
            </Group>
          )}
        </Group>
        {counters.total === 0 ? (
          <Text c="dimmed">{t('counts.none')}</Text>
        ) : (
          <>
            <CounterBar counters={counters} />
            <CounterNumbers counters={counters} />
          </>
        )}
        <Summary campaign={campaign} />
      </Stack>
    </Paper>
  )
}

function When({ campaign: { status, params, started_at, completed_at } }: { campaign: Campaign }) {
  const { t } = useTranslation('campaigns')
  if (completed_at !== null) return t('counts.endedAt', { at: dateTime(completed_at) })
  if (status === 'scheduled' && params.scheduled_start_at !== null)
    return t('counts.startsAt', { at: dateTime(params.scheduled_start_at) })
  if (started_at !== null) return t('counts.startedAt', { at: dateTime(started_at) })
  return null
}

function Summary({ campaign: { counters, spend, params, minute_price } }: { campaign: Campaign }) {
  const { t } = useTranslation('campaigns')
  const { currency } = spend
  return (
    <Group gap="xl">
      {counters.total > 0 && (
        <Text fw={600} aria-live="polite">
          {t('counts.done', { done: number(doneOf(counters)), total: number(counters.total) })}
        </Text>
      )}
      {counters.completed > 0 && (
        <Text>
          {t('counts.goal')}: <b>{number(counters.goal_reached)}</b>
        </Text>
      )}
      <Text>
        {t('counts.spend')}: <b>{money(spend)}</b>{' '}
        {params.max_spend !== null && t('counts.spendOf', { amount: money({ amount: params.max_spend, currency }) })}
      </Text>
      <Text c="dimmed">{t('counts.price', { price: money(minute_price) })}</Text>
    </Group>
  )
}
