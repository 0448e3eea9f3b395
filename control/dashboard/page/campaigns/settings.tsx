/** Shows the campaign settings and the consent, with a form to edit them while that is allowed. */
import { Button, Group, Stack, Text } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { api } from '../api/client.ts'
import { must, projectsQuery } from '../api/queries.ts'
import { Fact, Facts } from '../ui/facts.tsx'
import { dateTime, money, number } from '../ui/format.ts'
import { Notice } from '../ui/notice.tsx'
import { notify } from '../ui/notify.ts'
import { hoursText, timeIn } from './hours.ts'
import { inputOf, type Values, valuesOf } from './params.ts'
import { type Campaign, renew } from './queries.ts'
import { SettingsForm } from './settings-form.tsx'

export function Settings({ campaign }: { campaign: Campaign }) {
  const { t } = useTranslation('campaigns')
  const { t: common } = useTranslation()
  const [editing, setEditing] = useState(false)
  const editable = campaign.status === 'draft' || campaign.status === 'paused'
  if (editing && editable) return <Edit campaign={campaign} onClose={() => setEditing(false)} />
  return (
    <Stack>
      <Shown campaign={campaign} />
      {editable ? (
        <Group>
          <Button variant="default" onClick={() => setEditing(true)}>
            {common('edit')}
          </Button>
        </Group>
      ) : (
        <Text size="sm" c="dimmed">
          {t('settings.editHint')}
        </Text>
      )}
      <Consent consent={campaign.consent} />
    </Stack>
  )
}

function Edit({ campaign, onClose }: { campaign: Campaign; onClose: () => void }) {
  const { t: common } = useTranslation()
  const fixed = campaign.status !== 'draft'
  const save = useMutation({
    mutationFn: (values: Values) =>
      must(
        api.PATCH('/v1/public/campaigns/{campaign_id}', {
          params: { path: { campaign_id: campaign.id } },
          body: inputOf(values, { fixed }),
        }),
      ),
    onSuccess(after) {
      renew(after)
      notify(common('saved'))
      onClose()
    },
  })
  return (
    <SettingsForm
      initial={valuesOf(campaign)}
      fixed={fixed}
      submitLabel={common('save')}
      onSubmit={values => save.mutateAsync(values)}
      error={save.error}
      busy={save.isPending}
    >
      <Button variant="default" onClick={onClose}>
        {common('cancel')}
      </Button>
    </SettingsForm>
  )
}

function Shown({ campaign: { task, params, project_id, minute_price } }: { campaign: Campaign }) {
  const { t } = useTranslation('campaigns')
  const { data: projects } = useQuery(projectsQuery)
  const { quiet_hours: quiet, scheduled_start_at: start, retries, max_spend } = params
  const attempts = { count: retries + 1, minutes: number(params.retry_interval_min) }
  return (
    <Facts>
      <Fact label={t('project')}>{projects?.find(({ id }) => id === project_id)?.name ?? t('goneProject')}</Fact>
      <Fact label={t('settings.task')}>
        <Text size="sm" style={{ whiteSpace: 'pre-wrap' }}>
          {task ?? t('settings.noTask')}
        </Text>
      </Fact>
      <Fact label={t('settings.hours')}>{hoursText(t, params)}</Fact>
      <Fact label={t('settings.quiet')}>{quiet === null ? '—' : `${quiet.start}–${quiet.end}`}</Fact>
      <Fact label={t('settings.start')}>
        {start === null ? t('settings.atOnce') : `${timeIn(start, params.timezone)} (${params.timezone})`}
      </Fact>
      <Fact label={t('settings.pace')}>{t('settings.paceText', { count: params.concurrency })}</Fact>
      <Fact label={t('settings.attempts')}>{t('settings.attemptsText', attempts)}</Fact>
      <Fact label={t('settings.maxSpend')}>
        {max_spend === null ? t('settings.asBalance') : money({ ...minute_price, amount: max_spend })}
      </Fact>
    </Facts>
  )
}

function Consent({ consent }: { consent: Campaign['consent'] }) {
  const { t } = useTranslation('campaigns')
  if (consent === null) return null
  const by = consent.key_id === null ? t('consent.by.session') : t('consent.by.key', { id: consent.key_id })
  return (
    <Notice color="gray" title={t('consent.title')}>
      <Text size="sm" component="q" lang="en">
        {consent.text}
      </Text>
      <Text size="sm" c="dimmed">
        {t('consent.at', { at: dateTime(consent.confirmed_at) })}, {by}
      </Text>
    </Notice>
  )
}
