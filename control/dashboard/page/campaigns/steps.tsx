/** Campaign actions: start, pause, resume, stop, retry, delete. */
import { Button, Modal, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useMutation } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { useNavigate } from 'react-router'
import { api } from '../api/client.ts'
import { must, queryClient } from '../api/queries.ts'
import { Confirm } from '../ui/confirm.tsx'
import { notify } from '../ui/notify.ts'
import { Blockers } from './blockers.tsx'
import { type Campaign, renew } from './queries.ts'
import { StartDialog } from './start.tsx'

type Action = 'pause' | 'resume' | 'stop' | 'requeue'

const request = (campaign_id: string, action: Action) => {
  const options = { params: { path: { campaign_id } } }
  switch (action) {
    case 'pause':
      return must(api.POST('/v1/public/campaigns/{campaign_id}/pause', options))
    case 'resume':
      return must(api.POST('/v1/public/campaigns/{campaign_id}/resume', options))
    case 'stop':
      return must(api.POST('/v1/public/campaigns/{campaign_id}/stop', options))
    case 'requeue':
      return must(api.POST('/v1/public/campaigns/{campaign_id}/requeue', options))
  }
}

export function Steps({ campaign }: { campaign: Campaign }) {
  const { t } = useTranslation('campaigns')
  const step = useMutation({
    mutationFn: (action: Action) => request(campaign.id, action),
    onSuccess(after, action) {
      renew(after)
      notify(t(`steps.done.${action}`))
    },
  })
  const run = (action: Action) => step.mutateAsync(action)
  const { status, counters } = campaign
  const { no_answer, busy, failed, pending, dialing } = counters
  const again = no_answer + busy + failed
  const props = { run, busy: step.isPending }
  return (
    <>
      {status === 'draft' && <StartButton campaign={campaign} />}
      {status === 'draft' && <Delete id={campaign.id} />}
      {status === 'paused' && (
        <Button loading={step.isPending} onClick={() => step.mutate('resume')}>
          {t('steps.resume')}
        </Button>
      )}
      {(status === 'running' || status === 'scheduled') && <Step action="pause" {...props} />}
      {['running', 'scheduled', 'paused'].includes(status) && (
        <Step action="stop" count={pending + dialing} {...props} />
      )}
      {['paused', 'completed', 'stopped'].includes(status) && again > 0 && (
        <Step action="requeue" count={again} {...props} />
      )}
      <Refused error={step.error} again={step.variables === 'requeue'} onClose={step.reset} />
    </>
  )
}

interface StepProps {
  action: Exclude<Action, 'resume'>
  /** Number of affected contacts. */
  count?: number
  run: (action: Action) => Promise<unknown>
  busy: boolean
}

function Step({ action, count = 0, run, busy }: StepProps) {
  const { t } = useTranslation('campaigns')
  return (
    <Confirm
      trigger={open => (
        <Button
          variant={action === 'stop' ? 'outline' : 'default'}
          color={action === 'stop' ? 'red' : undefined}
          c={action === 'stop' ? 'var(--mantine-color-error)' : undefined}
          onClick={open}
          disabled={busy}
        >
          {t(`steps.${action}`)}
        </Button>
      )}
      title={t(`steps.${action}Title`)}
      action={t(`steps.${action}`)}
      danger={action === 'stop'}
      // `Refused` shows the error, because it lists every blocker.
      onConfirm={() => run(action).catch(() => {})}
    >
      <Text>{t(`steps.${action}Text`, { count })}</Text>
    </Confirm>
  )
}

function Refused({ error, again, onClose }: { error: unknown; again: boolean; onClose: () => void }) {
  const { t } = useTranslation('campaigns')
  const { t: common } = useTranslation()
  return (
    <Modal
      opened={error !== null}
      onClose={onClose}
      title={t('blockers.title')}
      centered
      closeButtonProps={{ 'aria-label': common('close') }}
    >
      <Blockers error={error} again={again} onGo={onClose} />
    </Modal>
  )
}

function StartButton({ campaign }: { campaign: Campaign }) {
  const { t } = useTranslation('campaigns')
  const [opened, { open, close }] = useDisclosure()
  return (
    <>
      <Button variant={campaign.counters.total > 0 ? 'filled' : 'default'} onClick={open}>
        {t('steps.start')}
      </Button>
      <StartDialog campaign={campaign} opened={opened} onClose={close} />
    </>
  )
}

function Delete({ id }: { id: string }) {
  const { t } = useTranslation('campaigns')
  const { t: common } = useTranslation()
  const navigate = useNavigate()
  const remove = async () => {
    await must(api.DELETE('/v1/public/campaigns/{campaign_id}', { params: { path: { campaign_id: id } } }))
    void queryClient.invalidateQueries({ queryKey: ['campaigns'] })
    notify(t('steps.deleted'))
    navigate('/campaigns')
  }
  return (
    <Confirm
      trigger={open => (
        <Button variant="outline" color="red" onClick={open}>
          {common('delete')}
        </Button>
      )}
      title={t('steps.deleteTitle')}
      action={common('delete')}
      onConfirm={remove}
    >
      <Text>{t('steps.deleteText')}</Text>
    </Confirm>
  )
}
