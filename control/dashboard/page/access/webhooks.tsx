import { Anchor, Badge, Button, Code, Group, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { Link } from 'react-router'
import { dateTime } from '../ui/format.ts'
import { useFilters } from '../ui/search-state.ts'
import { Answered, Empty } from '../ui/states.tsx'
import { type Column, ListTable } from '../ui/table.tsx'
import { type Webhook, webhooksQuery } from './queries.ts'
import { Secret } from './secret.tsx'
import { Verify } from './verify.tsx'
import { WebhookForm } from './webhook-form.tsx'

export function Webhooks() {
  const { t } = useTranslation('access')
  const { offset, set } = useFilters()
  const webhooks = useQuery(webhooksQuery(offset))
  const columns = useColumns()
  const [making, setMaking] = useState(false)
  const [secret, setSecret] = useState<string | null>(null)
  return (
    <Stack>
      <Group justify="space-between" align="flex-start">
        <Text maw={720}>{t('webhooks.lead')}</Text>
        <Button onClick={() => setMaking(true)}>{t('webhooks.create')}</Button>
      </Group>
      <WebhookForm
        webhook={null}
        opened={making}
        onClose={() => setMaking(false)}
        onSaved={made => setSecret(made.secret ?? null)}
      />
      <Secret title={t('webhooks.made')} value={secret} label={t('webhooks.secret')} onClose={() => setSecret(null)}>
        <Text size="sm">{t('webhooks.secretHint')}</Text>
      </Secret>
      <Answered of={webhooks}>
        {list => (
          <ListTable
            label={t('webhooks.title')}
            columns={columns}
            list={list}
            rowKey={({ id }) => id}
            empty={
              <Empty title={t('webhooks.none')}>
                <Text c="dimmed">{t('webhooks.noneHint')}</Text>
              </Empty>
            }
            onOffset={next => set({ offset: String(next) })}
            minWidth={720}
          />
        )}
      </Answered>
      <Verify />
    </Stack>
  )
}

function useColumns(): Column<Webhook>[] {
  const { t } = useTranslation('access')
  const { t: common } = useTranslation()
  return [
    {
      key: 'url',
      header: t('webhooks.url'),
      cell: ({ id, url }) => (
        <Anchor component={Link} inherit to={`/access/webhooks/${id}`}>
          {url}
        </Anchor>
      ),
    },
    {
      key: 'events',
      header: t('webhooks.events'),
      cell: ({ events }) => (
        <Group gap={4}>
          {events.map(event => (
            <Code key={event}>{event}</Code>
          ))}
        </Group>
      ),
    },
    { key: 'status', header: common('status'), cell: webhook => <WebhookStatus of={webhook} /> },
    { key: 'created', header: t('webhooks.created'), cell: webhook => dateTime(webhook.created_at) },
  ]
}

export function WebhookStatus({ of: { enabled, disabled_reason } }: { of: Webhook }) {
  const { t } = useTranslation('access')
  const word = enabled ? 'on' : disabled_reason === 'gone' ? 'gone' : 'off'
  return (
    <Badge miw="max-content" variant="dot" color={enabled ? 'green' : word === 'gone' ? 'red' : 'gray'} tt="none">
      {t(`webhooks.standing.${word}`)}
    </Badge>
  )
}
