/** Shows why the call ended and, where possible, what to do about it. */
import { Alert, Anchor, Text } from '@mantine/core'
import { IconAlertTriangle, IconInfoCircle } from '@tabler/icons-react'
import { useTranslation } from 'react-i18next'
import { Link } from 'react-router'
import { type Advised, adviceFor, linkOf } from './advice.ts'
import type { CallDetail } from './queries.ts'

export function Outcome({ call }: { call: CallDetail }) {
  const { t } = useTranslation('calls')
  if (call.ended_reason === null) return null
  const advised = adviceFor(call.ended_reason)
  const failed = call.status === 'failed' || troubled.has(call.ended_reason)
  const Icon = failed ? IconAlertTriangle : IconInfoCircle
  return (
    <Alert color={failed ? 'red' : 'gray'} variant="light" title={t(`reasons.${call.ended_reason}`)} icon={<Icon />}>
      {advised && <Advice reason={advised} projectId={call.project_id} />}
    </Alert>
  )
}

/** End reasons of answered calls that indicate a problem. */
const troubled = new Set<NonNullable<CallDetail['ended_reason']>>([
  'balance_exhausted',
  'media_timeout',
  'connection_lost',
  'encryption_failed',
  'model_error',
  'engine_lost',
])

function Advice({ reason, projectId }: { reason: Advised; projectId: string }) {
  const { t } = useTranslation('calls')
  const link = linkOf(reason)
  const places = {
    project: `/projects/${projectId}`,
    trunks: '/trunks',
    balance: '/balance',
    doNotCall: '/do-not-call',
  }
  return (
    <Text size="sm">
      {t(`advice.${reason}`)}{' '}
      {link && (
        <Anchor component={Link} to={places[link]} size="sm" underline="always">
          {t(`adviceLink.${link}`)}
        </Anchor>
      )}
    </Text>
  )
}
