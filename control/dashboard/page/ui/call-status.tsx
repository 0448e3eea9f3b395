import { Badge } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import type { Schemas } from '../api/types.ts'

export type CallStatus = Schemas['Call']['status']

const colors: Record<CallStatus, string> = {
  queued: 'gray',
  dialing: 'blue',
  ringing: 'blue',
  in_progress: 'green',
  completed: 'parley',
  no_answer: 'gray',
  busy: 'orange',
  failed: 'red',
  canceled: 'gray',
}

export const callStatuses = Object.keys(colors) as CallStatus[]

export function CallStatusBadge({ status }: { status: CallStatus }) {
  const { t } = useTranslation('calls')
  return (
    <Badge variant="dot" color={colors[status]} tt="none" fw={500} miw="max-content">
      {t(`statuses.${status}`)}
    </Badge>
  )
}
