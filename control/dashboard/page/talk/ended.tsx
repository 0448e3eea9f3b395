/** Summary of an ended browser call: end reason, duration, cost and a link to the call. */
import { Anchor, Group, Loader, Paper, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { Link } from 'react-router'
import { callQuery } from '../calls/queries.ts'
import { duration, money } from '../ui/format.ts'

interface EndedProps {
  /** Null if there is no reason to show, or it was already shown. */
  reason: string | null
  /** Null if no call was created. */
  call: string | null
  /** Whether the call's record is available. */
  ready: boolean
}

export function Ended({ reason, call, ready }: EndedProps) {
  const { t } = useTranslation(['talk', 'calls'])
  const { data } = useQuery({ ...callQuery(call ?? ''), enabled: ready && call !== null })
  if (call === null) return null
  return (
    <Paper withBorder p="sm" role="status">
      {reason && <Text size="sm">{t(`calls:reasons.${reason as 'caller_hangup'}`, { defaultValue: reason })}</Text>}
      <Group gap="sm">
        {data?.ended_at ? (
          <>
            <Text size="sm">{t('spent.duration', { time: duration(data.duration_seconds ?? 0) })}</Text>
            {data.cost && <Text size="sm">{t('spent.cost', { amount: money(data.cost) })}</Text>}
          </>
        ) : (
          <Group gap="xs">
            <Loader size="xs" />
            <Text size="sm">{t('spent.waiting')}</Text>
          </Group>
        )}
        <Anchor component={Link} to={`/calls/${call}`} size="sm">
          {t('spent.open')}
        </Anchor>
      </Group>
    </Paper>
  )
}
