import { Badge } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { oneOf } from '../ui/search-state.ts'
import type { Delivery } from './queries.ts'

const colors: Record<Delivery['status'], string> = {
  pending: 'blue',
  delivered: 'green',
  failed: 'red',
  canceled: 'gray',
}

export function DeliveryStatus({ of: { status } }: { of: Delivery }) {
  const { t } = useTranslation('access')
  return (
    <Badge miw="max-content" variant="dot" color={colors[status]} tt="none">
      {t(`deliveries.statuses.${status}`)}
    </Badge>
  )
}

const failures = [
  'blocked_address',
  'bad_url',
  'timeout',
  'too_large',
  'too_many_redirects',
  'network',
  'aborted',
] as const

/** Describes the response to a delivery attempt. */
export function useAnswer(): (attempt: Delivery['attempts'][number]) => string {
  const { t } = useTranslation('access')
  return ({ http_status, error }) => {
    if (http_status !== null) return `HTTP ${http_status}`
    const known = oneOf(error, failures)
    return known ? t(`deliveries.failures.${known}`) : (error ?? '—')
  }
}
