import { Button, Code, Group, Modal, Stack, Text, Title } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { api } from '../api/client.ts'
import { must } from '../api/queries.ts'
import { CopyBlock } from '../ui/copy.tsx'
import { exactTime, milliseconds } from '../ui/format.ts'
import { notify } from '../ui/notify.ts'
import { Answered, ProblemAlert } from '../ui/states.tsx'
import { DeliveryStatus, useAnswer } from './outcome.tsx'
import { type Delivery, deliveryQuery, type Webhook } from './queries.ts'

interface DeliveryDialogProps {
  webhook: Webhook
  deliveryId: string
  onClose: () => void
  /** Receives the ID of the new delivery. */
  onReplayed: (id: string) => void
}

export function DeliveryDialog({ webhook, deliveryId, onClose, onReplayed }: DeliveryDialogProps) {
  const { t } = useTranslation('access')
  const { t: common } = useTranslation()
  const delivery = useQuery(deliveryQuery(webhook.id, deliveryId))
  return (
    <Modal
      opened
      onClose={onClose}
      title={t('deliveries.one')}
      size="xl"
      closeButtonProps={{ 'aria-label': common('close') }}
    >
      <Answered of={delivery}>
        {found => (
          <Stack>
            <Facts delivery={found} />
            <Request webhook={webhook} delivery={found} />
            <Attempts delivery={found} />
            <Replay webhook={webhook} delivery={found} onReplayed={onReplayed} />
          </Stack>
        )}
      </Answered>
    </Modal>
  )
}

function Facts({ delivery }: { delivery: Delivery }) {
  const { t } = useTranslation('access')
  const { created_at, next_attempt_at: next, event } = delivery
  return (
    <Stack gap={4}>
      <Group gap="sm" aria-live="polite">
        <Code>{event}</Code>
        <DeliveryStatus of={delivery} />
      </Group>
      <Text size="sm">{t('deliveries.createdAt', { time: exactTime(created_at) })}</Text>
      {next !== null && <Text size="sm">{t('deliveries.nextAt', { time: exactTime(next) })}</Text>}
    </Stack>
  )
}

/** All attempts send the same request, apart from the timestamp and the signatures computed from it. */
function Request({ webhook: { url }, delivery: { id, attempts } }: { webhook: Webhook; delivery: Delivery }) {
  const { t } = useTranslation('access')
  const sentAt = attempts.at(-1)?.at
  const lines = [
    `POST ${url}`,
    'content-type: application/json',
    'user-agent: Parley-Webhooks/1',
    `webhook-id: ${id}`,
    ...(sentAt === undefined ? [] : [`webhook-timestamp: ${Math.floor(Date.parse(sentAt) / 1000)}`]),
    'webhook-signature: v1,…',
    'x-svc-signature: sha256=…',
  ]
  return (
    <Stack gap="xs">
      <Title order={3} size="h5">
        {t('deliveries.request')}
      </Title>
      <CopyBlock value={lines.join('\n')} label={t('deliveries.request')} />
      <Text size="sm" c="dimmed">
        {t('deliveries.requestHint')}
      </Text>
    </Stack>
  )
}

function Attempts({ delivery: { attempts } }: { delivery: Delivery }) {
  const { t } = useTranslation('access')
  const say = useAnswer()
  return (
    <Stack gap="xs">
      <Title order={3} size="h5">
        {t('deliveries.attempts')}
      </Title>
      {attempts.length === 0 && <Text size="sm">{t('deliveries.notYet')}</Text>}
      {attempts.map(attempt => (
        <Stack gap={4} key={attempt.attempt}>
          <Text size="sm">
            {t('deliveries.attempt', {
              attempt: attempt.attempt,
              time: exactTime(attempt.at),
              answer: say(attempt),
              took: milliseconds(attempt.ms),
            })}
          </Text>
          {attempt.response !== null && (
            <CopyBlock value={attempt.response} label={t('deliveries.response', { attempt: attempt.attempt })} />
          )}
        </Stack>
      ))}
    </Stack>
  )
}

function Replay({
  webhook,
  delivery,
  onReplayed,
}: Omit<DeliveryDialogProps, 'deliveryId' | 'onClose'> & { delivery: Delivery }) {
  const { t } = useTranslation('access')
  const client = useQueryClient()
  const replay = useMutation({
    mutationFn: () =>
      must(
        api.POST('/v1/public/webhooks/{webhook_id}/deliveries/{delivery_id}/replay', {
          params: { path: { webhook_id: webhook.id, delivery_id: delivery.id } },
        }),
      ),
    onSuccess({ id }) {
      client.invalidateQueries({ queryKey: ['webhooks', webhook.id, 'deliveries'] })
      notify(t('deliveries.replayed'))
      onReplayed(id)
    },
  })
  return (
    <>
      <ProblemAlert error={replay.error} />
      <Group justify="space-between">
        <Text size="sm" c="dimmed" maw={480}>
          {t('deliveries.replayHint')}
        </Text>
        <Button variant="default" onClick={() => replay.mutate()} loading={replay.isPending}>
          {t('deliveries.replay')}
        </Button>
      </Group>
    </>
  )
}
