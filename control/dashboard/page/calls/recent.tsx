import { Anchor, Group, Stack, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense } from 'react'
import { useTranslation } from 'react-i18next'
import { Link } from 'react-router'
import { Answered, Empty, Waiting } from '../ui/states.tsx'
import { callsQuery } from './queries.ts'

const SHOWN = 5

/** The table is loaded lazily: an account without calls does not need it. */
const RecentList = lazy(() => import('./recent-list.tsx'))

/** The most recent calls of the account. */
export function RecentCalls({ title, none }: { title: string; none: string }) {
  const { t } = useTranslation()
  const calls = useQuery(callsQuery({ limit: SHOWN, offset: 0 }))
  return (
    <Stack gap="xs">
      <Group justify="space-between">
        <Title order={2} size="h4">
          {title}
        </Title>
        <Anchor component={Link} to="/calls" size="sm">
          {t('nav.calls')}
        </Anchor>
      </Group>
      <Answered of={calls}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty title={none} />
          ) : (
            <Suspense fallback={<Waiting />}>
              <RecentList label={title} calls={items} />
            </Suspense>
          )
        }
      </Answered>
    </Stack>
  )
}
