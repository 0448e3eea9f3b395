/** Campaign status badge and contact counters by status. */
import { Badge, Box, Progress, SimpleGrid, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { number } from '../ui/format.ts'
import { Notice } from '../ui/notice.tsx'
import type { Campaign, ContactStatus, Counters, Status } from './queries.ts'

const colors: Record<Status, string> = {
  draft: 'gray',
  scheduled: 'blue',
  running: 'parley',
  paused: 'orange',
  completed: 'parley',
  stopped: 'gray',
}

export function StatusBadge({ status }: { status: Status }) {
  const { t } = useTranslation('campaigns')
  return (
    <Badge color={colors[status]} variant={status === 'running' ? 'filled' : 'outline'} c={ink(status)}>
      {t(`status.${status}`)}
    </Badge>
  )
}

/** Outlined badges use the text color: their own colors are too pale for small text. */
const ink = (status: Status) => (status === 'running' ? undefined : 'var(--mantine-color-text)')

export function PauseReason({ campaign: { status, pause_reason } }: { campaign: Campaign }) {
  const { t } = useTranslation('campaigns')
  if (status !== 'paused' || pause_reason === null) return null
  return (
    <Notice color={pause_reason === 'owner' ? 'gray' : 'orange'} role="status">
      {t(`pauseReason.${pause_reason}`)}
    </Notice>
  )
}

/** In the order of a contact's life cycle, successful ones first. */
export const shownStatuses: readonly ContactStatus[] = [
  'completed',
  'in_progress',
  'dialing',
  'pending',
  'no_answer',
  'busy',
  'failed',
  'skipped',
  'canceled',
]

const fills: Record<ContactStatus, string> = {
  completed: 'teal.7',
  in_progress: 'blue.6',
  dialing: 'cyan.5',
  pending: 'gray.4',
  no_answer: 'yellow.6',
  busy: 'orange.5',
  failed: 'red.6',
  skipped: 'grape.4',
  canceled: 'gray.6',
}

export const doneOf = ({ total, pending, dialing, in_progress }: Counters) => total - pending - dialing - in_progress

export function CounterBar({ counters, size = 'lg' }: { counters: Counters; size?: string }) {
  const { t } = useTranslation('campaigns')
  const { total } = counters
  const parts = shownStatuses.filter(status => counters[status] > 0)
  const told = parts.map(status => `${t(`contactStatus.${status}`)}: ${number(counters[status])}`).join(', ')
  return (
    <Box role="img" aria-label={`${t('counts.bar')}: ${told || number(0)}`}>
      <Progress.Root size={size} aria-hidden>
        {parts.map(status => (
          <Progress.Section
            key={status}
            withAria={false}
            value={(counters[status] / Math.max(1, total)) * 100}
            color={fills[status]}
          />
        ))}
      </Progress.Root>
    </Box>
  )
}

export function CounterNumbers({ counters }: { counters: Counters }) {
  const { t } = useTranslation('campaigns')
  return (
    <SimpleGrid cols={{ base: 2, xs: 3, md: 5 }} spacing="sm" component="dl" m={0}>
      {shownStatuses.map(status => (
        <div key={status}>
          <Text component="dt" size="sm" c="dimmed">
            <Swatch color={fills[status]} faint={counters[status] === 0} /> {t(`contactStatus.${status}`)}
          </Text>
          <Text component="dd" m={0} fw={600}>
            {number(counters[status])}
          </Text>
        </div>
      ))}
    </SimpleGrid>
  )
}

function Swatch({ color, faint }: { color: string; faint: boolean }) {
  return (
    <Box
      component="span"
      display="inline-block"
      w={10}
      h={10}
      bg={color}
      style={{ borderRadius: 3, opacity: faint ? 0.35 : 1 }}
      aria-hidden
    />
  )
}
