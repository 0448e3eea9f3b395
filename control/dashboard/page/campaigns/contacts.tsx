/** Lists the contacts of a campaign and their status. */
import { Anchor, Badge, Button, Group, Select, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { Link } from 'react-router'
import { number } from '../ui/format.ts'
import { oneOf, useFilters } from '../ui/search-state.ts'
import { Answered } from '../ui/states.tsx'
import { type Column, ListTable } from '../ui/table.tsx'
import { timeIn } from './hours.ts'
import { type Campaign, type CampaignContact, campaignContactsQuery } from './queries.ts'
import { reasonText } from './reasons.ts'
import { shownStatuses } from './status.tsx'
import { Why } from './why.tsx'

const goals = ['reached', 'not_reached'] as const

export function Contacts({ campaign }: { campaign: Campaign }) {
  const { t } = useTranslation('campaigns')
  const { params, offset, set } = useFilters()
  const status = oneOf(params.get('status'), shownStatuses)
  const goal = oneOf(params.get('goal'), goals)
  const [asked, setAsked] = useState<CampaignContact | null>(null)
  const contacts = useQuery(campaignContactsQuery(campaign.id, { status, goal, offset }))
  const filtered = status !== undefined || goal !== undefined
  if (campaign.counters.total === 0 && !filtered) return <Text c="dimmed">{t('contacts.empty')}</Text>
  return (
    <Stack>
      <Group>
        <Select
          aria-label={t('contacts.anyStatus')}
          placeholder={t('contacts.anyStatus')}
          clearable
          data={shownStatuses.map(value => ({ value, label: t(`contactStatus.${value}`) }))}
          value={status ?? null}
          onChange={status => set({ status })}
        />
        <Select
          aria-label={t('contacts.anyGoal')}
          placeholder={t('contacts.anyGoal')}
          clearable
          data={goals.map(value => ({ value, label: t(`contacts.goals.${value}`) }))}
          value={goal ?? null}
          onChange={goal => set({ goal })}
        />
      </Group>
      <Answered of={contacts}>
        {list => (
          <ListTable
            label={t('contacts.title')}
            columns={columnsOf(t, campaign, setAsked)}
            list={list}
            rowKey={({ id }) => id}
            onOffset={offset => set({ offset: String(offset) })}
            minWidth={760}
            empty={t('contacts.noneFound')}
          />
        )}
      </Answered>
      <Why campaign={campaign} contact={asked} onClose={() => setAsked(null)} />
    </Stack>
  )
}

type Words = ReturnType<typeof useTranslation<'campaigns'>>['t']

/** Statuses that need no explanation. */
const CLEAR: readonly CampaignContact['status'][] = ['completed', 'in_progress']

function columnsOf(
  t: Words,
  { params: { timezone } }: Campaign,
  ask: (contact: CampaignContact) => void,
): Column<CampaignContact>[] {
  return [
    { key: 'contact', header: t('contacts.phone'), cell: contact => <Person contact={contact} /> },
    {
      key: 'status',
      header: t('statusHeader'),
      cell: ({ status, skip_reason }) => (
        <Stack gap={0}>
          <Text size="sm">{t(`contactStatus.${status}`)}</Text>
          {skip_reason !== null && (
            <Text size="xs" c="dimmed" maw={220}>
              {reasonText(t, skip_reason, skip_reason)}
            </Text>
          )}
        </Stack>
      ),
    },
    { key: 'attempts', header: t('contacts.attempts'), align: 'right', cell: ({ attempts }) => number(attempts) },
    {
      key: 'next',
      header: t('contacts.next'),
      cell: ({ next_attempt_at: at }) => (at === null ? '' : timeIn(at, timezone)),
    },
    {
      key: 'goal',
      header: t('contacts.goal'),
      cell: ({ goal_reached: goal }) =>
        goal === null ? (
          ''
        ) : (
          <Badge color={goal ? 'parley' : 'gray'} variant="outline" c="var(--mantine-color-text)">
            {t(goal ? 'contacts.goals.reached' : 'contacts.goals.not_reached')}
          </Badge>
        ),
    },
    {
      key: 'call',
      header: t('contacts.call'),
      cell: ({ last_call_id: id, phone }) =>
        id !== null && (
          <Anchor component={Link} to={`/calls/${id}`} size="sm" aria-label={t('contacts.openCallOf', { phone })}>
            {t('contacts.openCall')}
          </Anchor>
        ),
    },
    {
      key: 'why',
      header: t('contacts.whyHeader'),
      cell: contact =>
        !CLEAR.includes(contact.status) && (
          <Button
            variant="default"
            size="compact-sm"
            aria-label={t('contacts.whyOf', { phone: contact.phone })}
            onClick={() => ask(contact)}
          >
            {t('contacts.why')}
          </Button>
        ),
    },
  ]
}

function Person({ contact: { phone, name, vars, contact_id } }: { contact: CampaignContact }) {
  const told = Object.entries(vars).map(([key, value]) => `${key}: ${value}`)
  return (
    <Stack gap={0} maw={320}>
      {contact_id === null ? (
        <Text size="sm" fw={600}>
          {phone}
        </Text>
      ) : (
        <Anchor component={Link} to={`/contacts/${contact_id}`} size="sm" fw={600}>
          {phone}
        </Anchor>
      )}
      {name !== null && <Text size="sm">{name}</Text>}
      {told.length > 0 && (
        <Text size="xs" c="dimmed" lineClamp={2}>
          {told.join(' · ')}
        </Text>
      )}
    </Stack>
  )
}
