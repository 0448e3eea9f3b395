/** The start dialog: contacts, schedule, cost and the consent, which only a person can confirm. */
import { Button, Checkbox, Group, Modal, Stack, Text } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { api } from '../api/client.ts'
import { balanceQuery, must, projectsQuery } from '../api/queries.ts'
import { Fact, Facts } from '../ui/facts.tsx'
import { dateTime, money } from '../ui/format.ts'
import { Notice } from '../ui/notice.tsx'
import { notify } from '../ui/notify.ts'
import { Blockers } from './blockers.tsx'
import { hoursText } from './hours.ts'
import { type Campaign, renew } from './queries.ts'

interface StartProps {
  campaign: Campaign
  opened: boolean
  onClose: () => void
}

export function StartDialog({ campaign, opened, onClose }: StartProps) {
  const { t } = useTranslation('campaigns')
  const { t: common } = useTranslation()
  const [agreed, setAgreed] = useState(false)
  const [missing, setMissing] = useState(false)
  const start = useMutation({
    mutationFn: () =>
      must(
        api.POST('/v1/public/campaigns/{campaign_id}/start', {
          params: { path: { campaign_id: campaign.id } },
          body: { consent: true },
        }),
      ),
    onSuccess(after) {
      onClose()
      renew(after)
      notify(t(after.status === 'scheduled' ? 'steps.planned' : 'steps.started'))
    },
  })
  const { reset } = start
  // Reset the consent: it applies only to the data that was shown when it was given.
  useEffect(() => {
    if (!opened) return
    setAgreed(false)
    setMissing(false)
    reset()
  }, [opened, reset])
  const planned = campaign.params.scheduled_start_at !== null
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      title={t('start.title')}
      size="lg"
      closeButtonProps={{ 'aria-label': common('close') }}
    >
      <Stack>
        <Known campaign={campaign} />
        <Notice color="gray" title={t('start.lawTitle')}>
          <Text size="sm">{t('start.law')}</Text>
          <Text size="sm" mt="xs">
            {t('start.kept')}
          </Text>
        </Notice>
        <Checkbox
          required
          checked={agreed}
          onChange={event => setAgreed(event.currentTarget.checked)}
          label={t('start.consent')}
          error={missing && !agreed ? t('start.consentMissing') : null}
        />
        <Blockers error={start.error} onGo={onClose} />
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            {common('cancel')}
          </Button>
          <Button loading={start.isPending} onClick={() => (agreed ? start.mutate() : setMissing(true))}>
            {t(planned ? 'start.plan' : 'start.go')}
          </Button>
        </Group>
      </Stack>
    </Modal>
  )
}

function Known({ campaign }: { campaign: Campaign }) {
  const { t } = useTranslation('campaigns')
  const { data: balance } = useQuery(balanceQuery)
  const { data: projects } = useQuery(projectsQuery)
  const { counters, params, minute_price, project_id } = campaign
  const sum = { ...minute_price, amount: timesOf(minute_price.amount, counters.total) }
  const short = balance !== undefined && Number(sum.amount) > Number(balance.balance.amount)
  const project = projects?.find(({ id }) => id === project_id)?.name ?? t('goneProject')
  const limit = params.max_spend === null ? null : { ...minute_price, amount: params.max_spend }
  return (
    <>
      <Text fw={600}>{t('start.who', { count: counters.total, project })}</Text>
      <Facts>
        <Fact label={t('start.when')}>
          <Text size="sm">
            {params.scheduled_start_at === null
              ? t('start.atOnce')
              : t('start.from', { at: dateTime(params.scheduled_start_at) })}
          </Text>
          <Text size="sm">{hoursText(t, params)}</Text>
        </Fact>
        <Fact label={t('start.price')}>
          <Text size="sm">{t('start.priceText', { price: money(minute_price), sum: money(sum) })}</Text>
          {limit && <Text size="sm">{t('start.limit', { amount: money(limit) })}</Text>}
        </Fact>
        <Fact label={t('start.balance')}>
          <Text size="sm">{balance && money(balance.balance)}</Text>
          {short && <Text size="sm">{t('start.short')}</Text>}
        </Fact>
      </Facts>
    </>
  )
}

/** Multiplies exactly; amounts have four decimal places. */
function timesOf(amount: string, times: number): string {
  const units = BigInt(amount.replace('.', '')) * BigInt(times)
  const digits = String(units).padStart(5, '0')
  return `${digits.slice(0, -4)}.${digits.slice(-4)}`
}
