import { Badge } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import type { Job, Lead } from './queries.ts'

const jobColors: Record<Job['status'], string> = {
  queued: 'gray',
  running: 'blue',
  canceling: 'orange',
  completed: 'green',
  canceled: 'gray',
  failed: 'red',
}

export function JobStatus({ of: { status } }: { of: Pick<Job, 'status'> }) {
  const { t } = useTranslation('leads')
  return (
    <Badge miw="max-content" variant="dot" color={jobColors[status]} tt="none">
      {t(`statuses.${status}`)}
    </Badge>
  )
}

const leadColors: Record<Lead['status'], string> = { found: 'gray', enriched: 'green', rejected: 'red' }

export function LeadStatus({ of: { status } }: { of: Pick<Lead, 'status'> }) {
  const { t } = useTranslation('leads')
  return (
    <Badge miw="max-content" variant="dot" color={leadColors[status]} tt="none">
      {t(`leadStatuses.${status}`)}
    </Badge>
  )
}
