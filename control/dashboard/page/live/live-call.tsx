/** A call in progress: transcript, monitoring and hang-up. */
import { Alert, Button, Group, Paper, Stack, Text, Title } from '@mantine/core'
import { IconPhoneOff } from '@tabler/icons-react'
import { useReducer } from 'react'
import { useTranslation } from 'react-i18next'
import { api } from '../api/client.ts'
import { useEvents } from '../api/events.ts'
import { must, queryClient } from '../api/queries.ts'
import type { Schemas } from '../api/types.ts'
import { type CallEvent, eventsOf } from '../conversation/events.ts'
import { Log } from '../conversation/log.tsx'
import { CallStatusBadge } from '../ui/call-status.tsx'
import { Confirm } from '../ui/confirm.tsx'
import { Operator } from './operator.tsx'
import { retell, type Story, told, untold } from './story.ts'
import { Talked } from './talked.tsx'
import { useSeat } from './use-seat.ts'

type Call = Schemas['Call']

export function LiveCall({ call }: { call: Call }) {
  // The key resets the state when another call is shown.
  return <Live key={call.id} call={call} />
}

export default LiveCall

function Live({ call }: { call: Call }) {
  const { t } = useTranslation('live')
  const story = useStory(call.id)
  const seat = useSeat(call.id, story)
  const status = story.status ?? call.status
  const isTalking = status === 'in_progress' && !story.isClosing
  return (
    <Paper component="section" withBorder p="md" aria-label={t('title')}>
      <Stack gap="sm">
        <Group justify="space-between" gap="xs">
          <Group gap="sm" role="status">
            <CallStatusBadge status={status} />
            {story.isClosing && <Text size="sm">{t('closing')}</Text>}
          </Group>
          <Group gap="sm">
            {isTalking && call.answered_at && <Talked since={call.answered_at} />}
            {!story.isClosing && <HangUp callId={call.id} isTalking={isTalking} />}
          </Group>
        </Group>
        {story.wanted !== null && (
          <Alert color="blue" role="alert" title={t('wanted', { name: story.wanted })}>
            <Button size="xs" loading={seat.isPending} onClick={() => seat.take('takeover')}>
              {t('modes.takeover')}
            </Button>
          </Alert>
        )}
        {isTalking ? <Operator own={seat} modes={story.modes} /> : <NotYet closing={story.isClosing} />}
        <Title order={2} size="h4">
          {t('transcript')}
        </Title>
        <Log
          label={t('transcript')}
          lines={story.lines}
          who={{ caller: t('caller'), agent: t('agent'), operator: t('operator'), whisper: t('whisper') }}
          empty={isTalking ? t('empty') : t('emptyYet')}
        />
      </Stack>
    </Paper>
  )
}

function useStory(callId: string): Story {
  const [story, notify] = useReducer(retell, untold)
  useEvents<CallEvent>(eventsOf(callId), told, event => {
    notify(event)
    if (event.type === 'call.started') void queryClient.invalidateQueries({ queryKey: ['calls'] })
    if (event.type !== 'call.ended') return undefined
    for (const key of ['calls', 'balance']) void queryClient.invalidateQueries({ queryKey: [key] })
    return 'end'
  })
  return story
}

function NotYet({ closing }: { closing: boolean }) {
  const { t } = useTranslation('live')
  if (closing) return null
  return (
    <Text size="sm" c="dimmed">
      {t('notAnswered')}
    </Text>
  )
}

function HangUp({ callId, isTalking }: { callId: string; isTalking: boolean }) {
  const { t } = useTranslation('live')
  const action = isTalking ? t('hangUp') : t('cancelCall')
  const hangUp = async () => {
    await must(api.POST('/v1/public/calls/{call_id}/hangup', { params: { path: { call_id: callId } } }))
    await queryClient.invalidateQueries({ queryKey: ['calls'] })
  }
  return (
    <Confirm
      title={isTalking ? t('hangUpTitle') : t('cancelTitle')}
      action={action}
      onConfirm={hangUp}
      trigger={open => (
        <Button color="red.9" leftSection={<IconPhoneOff size={16} aria-hidden />} onClick={open}>
          {action}
        </Button>
      )}
    >
      {isTalking ? t('hangUpText') : t('cancelText')}
    </Confirm>
  )
}
