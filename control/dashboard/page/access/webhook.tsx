/** The page of one webhook: actions and delivery log. */
import { Alert, Anchor, Button, Code, Group, Paper, Stack, Text, Title } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { Link, useNavigate, useParams } from 'react-router'
import { api } from '../api/client.ts'
import { must } from '../api/queries.ts'
import { Confirm } from '../ui/confirm.tsx'
import { notify } from '../ui/notify.ts'
import { Page } from '../ui/page.tsx'
import { useFilters } from '../ui/search-state.ts'
import { Answered, ProblemAlert } from '../ui/states.tsx'
import { Deliveries } from './deliveries.tsx'
import { type Webhook, webhookQuery } from './queries.ts'
import { Secret } from './secret.tsx'
import { Verify } from './verify.tsx'
import { WebhookForm } from './webhook-form.tsx'
import { WebhookStatus } from './webhooks.tsx'

export default function WebhookPage() {
  const { webhookId = '' } = useParams()
  const webhook = useQuery(webhookQuery(webhookId))
  return <Answered of={webhook}>{found => <OneWebhook webhook={found} />}</Answered>
}

function OneWebhook({ webhook }: { webhook: Webhook }) {
  const { t } = useTranslation('access')
  const [changing, setChanging] = useState(false)
  return (
    <Page
      title={t('webhooks.one')}
      actions={
        <>
          <Test webhook={webhook} />
          <Button variant="default" onClick={() => setChanging(true)}>
            {t('webhooks.change')}
          </Button>
          <Remove webhook={webhook} />
        </>
      }
    >
      <WebhookForm webhook={webhook} opened={changing} onClose={() => setChanging(false)} onSaved={() => {}} />
      <Anchor component={Link} to="/access/webhooks" size="sm">
        {t('webhooks.back')}
      </Anchor>
      {webhook.disabled_reason === 'gone' && (
        <Alert color="red" variant="light">
          {t('webhooks.goneHint')}
        </Alert>
      )}
      <Paper withBorder p="md">
        <Stack gap="xs">
          <Group>
            <WebhookStatus of={webhook} />
            {webhook.events.map(event => (
              <Code key={event}>{event}</Code>
            ))}
          </Group>
          <Text>{webhook.url}</Text>
          <Group justify="space-between">
            <Text size="sm" c="dimmed" maw={720}>
              {t('webhooks.overlap')}
            </Text>
            <Rotate webhook={webhook} />
          </Group>
        </Stack>
      </Paper>
      <Title order={2} size="h4">
        {t('deliveries.title')}
      </Title>
      <Deliveries webhook={webhook} />
      <Verify />
    </Page>
  )
}

/** Opens the delivery of the test event at once, to show its result. */
function Test({ webhook: { id } }: { webhook: Webhook }) {
  const { t } = useTranslation('access')
  const client = useQueryClient()
  const { set } = useFilters()
  const test = useMutation({
    mutationFn: () => must(api.POST('/v1/public/webhooks/{webhook_id}/test', { params: { path: { webhook_id: id } } })),
    onSuccess(delivery) {
      client.invalidateQueries({ queryKey: ['webhooks', id, 'deliveries'] })
      set({ delivery: delivery.id })
    },
  })
  return (
    <>
      <Button onClick={() => test.mutate()} loading={test.isPending}>
        {t('webhooks.test')}
      </Button>
      <ProblemAlert error={test.error} />
    </>
  )
}

function Rotate({ webhook: { id } }: { webhook: Webhook }) {
  const { t } = useTranslation('access')
  const [secret, setSecret] = useState<string | null>(null)
  const rotate = async () => {
    const made = await must(
      api.POST('/v1/public/webhooks/{webhook_id}/rotate', { params: { path: { webhook_id: id } } }),
    )
    setSecret(made.secret ?? null)
  }
  return (
    <>
      <Confirm
        trigger={open => (
          <Button variant="default" size="compact-sm" onClick={open}>
            {t('webhooks.rotate')}
          </Button>
        )}
        title={t('webhooks.rotate')}
        action={t('webhooks.rotate')}
        onConfirm={rotate}
        danger={false}
      >
        <Text>{t('webhooks.rotateHint')}</Text>
      </Confirm>
      <Secret title={t('webhooks.rotated')} value={secret} label={t('webhooks.secret')} onClose={() => setSecret(null)}>
        <Text size="sm">{t('webhooks.rotateHint')}</Text>
      </Secret>
    </>
  )
}

function Remove({ webhook: { id, url } }: { webhook: Webhook }) {
  const { t } = useTranslation('access')
  const { t: common } = useTranslation()
  const client = useQueryClient()
  const navigate = useNavigate()
  const remove = async () => {
    await must(api.DELETE('/v1/public/webhooks/{webhook_id}', { params: { path: { webhook_id: id } } }))
    await navigate('/access/webhooks')
    client.removeQueries({ queryKey: ['webhooks', id] })
    client.invalidateQueries({ queryKey: ['webhooks'] })
    notify(t('webhooks.removed'))
  }
  return (
    <Confirm
      trigger={open => (
        <Button variant="subtle" color="red" onClick={open}>
          {common('delete')}
        </Button>
      )}
      title={t('webhooks.remove')}
      action={common('delete')}
      onConfirm={remove}
    >
      <Text>{t('webhooks.removeHint', { url })}</Text>
    </Confirm>
  )
}
