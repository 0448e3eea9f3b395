/** The page of one call: live while it is in progress, with all details once it has ended. */
import './calls.css'
import { Anchor, Group } from '@mantine/core'
import { IconArrowLeft } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense } from 'react'
import { useTranslation } from 'react-i18next'
import { Link, useParams } from 'react-router'
import { CallStatusBadge } from '../ui/call-status.tsx'
import { Page } from '../ui/page.tsx'
import { Answered, Waiting } from '../ui/states.tsx'
import { EndedCall } from './ended.tsx'
import { EraseCall } from './erase.tsx'
import { type Call, callQuery, isLive } from './queries.ts'

const LiveCall = lazy(() => import('../live/live-call.tsx'))

export default function CallPage() {
  const { t } = useTranslation('calls')
  const { callId = '' } = useParams()
  const call = useQuery(callQuery(callId))
  const title = useTitle(call.data)
  return (
    <Page
      title={title}
      actions={
        <Group gap="md">
          {call.data && !isLive(call.data) && (
            <>
              <CallStatusBadge status={call.data.status} />
              <EraseCall call={call.data} />
            </>
          )}
          <Anchor component={Link} to="/calls" size="sm">
            <Group gap={4} wrap="nowrap">
              <IconArrowLeft size={16} aria-hidden />
              {t('page.back')}
            </Group>
          </Anchor>
        </Group>
      }
    >
      <Answered of={call}>
        {detail =>
          isLive(detail) ? (
            <Suspense fallback={<Waiting />}>
              <LiveCall call={detail} />
            </Suspense>
          ) : (
            <EndedCall call={detail} />
          )
        }
      </Answered>
    </Page>
  )
}

function useTitle(call: Call | undefined): string {
  const { t } = useTranslation('calls')
  if (!call) return t('title')
  const who = call.direction === 'out' ? call.to : call.from
  if (who === 'web') return t('page.webTitle')
  return who === 'erased' ? t('page.erasedTitle') : t('page.title', { who })
}
