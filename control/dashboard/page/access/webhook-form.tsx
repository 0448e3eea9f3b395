import { Checkbox, Stack, Switch, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { api } from '../api/client.ts'
import { fieldErrors } from '../api/problems.ts'
import { must } from '../api/queries.ts'
import type { Schemas } from '../api/types.ts'
import { Dialog } from '../ui/dialog.tsx'
import { FormEnd } from '../ui/form-end.tsx'
import { eventWords, type Webhook, webhookEvents } from './queries.ts'

type Values = Pick<Webhook, 'url' | 'events' | 'enabled'>

interface WebhookFormProps {
  /** Null creates a webhook. */
  webhook: Webhook | null
  opened: boolean
  onClose: () => void
  onSaved: (webhook: Schemas['WebhookCreated']) => void
}

export function WebhookForm(props: WebhookFormProps) {
  const { t } = useTranslation('access')
  return (
    <Dialog
      opened={props.opened}
      onClose={props.onClose}
      title={props.webhook === null ? t('webhooks.create') : t('webhooks.change')}
      centered
    >
      <Fields {...props} />
    </Dialog>
  )
}

const save = (webhook: Webhook | null, body: Values): Promise<Schemas['WebhookCreated']> =>
  webhook === null
    ? must(api.POST('/v1/public/webhooks', { body }))
    : must(api.PATCH('/v1/public/webhooks/{webhook_id}', { params: { path: { webhook_id: webhook.id } }, body }))

const isHttp = (url: string) => URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)

function Fields({ webhook, onClose, onSaved }: WebhookFormProps) {
  const { t } = useTranslation('access')
  const { t: common } = useTranslation()
  const client = useQueryClient()
  const form = useForm<Values>({
    initialValues: {
      url: webhook?.url ?? '',
      events: webhook?.events ?? [...webhookEvents],
      enabled: webhook?.enabled ?? true,
    },
    validate: {
      url: url => (isHttp(url) ? null : t('webhooks.needsUrl')),
      events: events => (events.length === 0 ? t('webhooks.needsEvent') : null),
    },
  })
  const saving = useMutation({
    mutationFn: (values: Values) => save(webhook, values),
    gcTime: 0,
    onSuccess(saved) {
      client.invalidateQueries({ queryKey: ['webhooks'] })
      onClose()
      onSaved(saved)
    },
    onError: error => form.setErrors(fieldErrors(common, error)),
  })
  return (
    <form onSubmit={form.onSubmit(values => saving.mutate(values))} noValidate>
      <Stack>
        <TextInput
          data-autofocus
          required
          type="url"
          label={t('webhooks.url')}
          placeholder="https://example.com/hooks/parley"
          description={t('webhooks.urlHint')}
          {...form.getInputProps('url')}
        />
        <Checkbox.Group label={t('webhooks.events')} {...form.getInputProps('events')}>
          <Stack gap="xs" mt={4}>
            {webhookEvents.map(event => (
              <Checkbox key={event} value={event} label={event} description={t(`events.${eventWords[event]}`)} />
            ))}
          </Stack>
        </Checkbox.Group>
        <Switch
          label={t('webhooks.enabled')}
          description={t('webhooks.enabledHint')}
          {...form.getInputProps('enabled', { type: 'checkbox' })}
        />
        <FormEnd
          submit={webhook === null ? t('webhooks.create') : common('save')}
          error={saving.error}
          busy={saving.isPending}
          onCancel={onClose}
        />
      </Stack>
    </form>
  )
}
