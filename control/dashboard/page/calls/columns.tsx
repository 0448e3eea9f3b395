/** Table columns for calls. */
import { Anchor, Group, Text, ThemeIcon } from '@mantine/core'
import { IconCheck, IconMinus, IconPhoneIncoming, IconPhoneOutgoing, IconWorld } from '@tabler/icons-react'
import { useTranslation } from 'react-i18next'
import { Link } from 'react-router'
import { CallStatusBadge } from '../ui/call-status.tsx'
import { dateTime, duration, money } from '../ui/format.ts'
import type { Column } from '../ui/table.tsx'
import type { Call } from './queries.ts'

const UNBROKEN = { whiteSpace: 'nowrap' } as const

const icons = { in: IconPhoneIncoming, out: IconPhoneOutgoing, web: IconWorld }

export function DirectionIcon({ direction }: { direction: Call['direction'] }) {
  const { t } = useTranslation('calls')
  const Icon = icons[direction]
  const words = t(`direction.${direction}`)
  return (
    <ThemeIcon variant="default" size="sm" role="img" aria-label={words} title={words}>
      <Icon size={14} />
    </ThemeIcon>
  )
}

/** Returns a function that shows a party as its number, or as a word for `web` and `erased`. */
export function usePartyName(): (party: string) => string {
  const { t } = useTranslation('calls')
  // Use a Map: an incoming caller ID can be any string, such as `constructor`.
  const words = new Map([
    ['web', t('browser')],
    ['erased', t('erased')],
  ])
  return party => words.get(party) ?? party
}

/** Links to the call. A browser call has no number, but its contact may have a name. */
export function CallLink({ call: { id, direction, from, to } }: { call: Call }) {
  const nameOf = usePartyName()
  return (
    <Anchor component={Link} to={`/calls/${id}`} size="sm">
      <span style={UNBROKEN}>{nameOf(from)}</span>
      {direction !== 'web' && (
        <>
          {' → '}
          <span style={UNBROKEN}>{nameOf(to)}</span>
        </>
      )}
    </Anchor>
  )
}

export function Goal({ reached }: { reached: Call['goal_reached'] }) {
  const { t } = useTranslation('calls')
  if (reached === null) return <Text size="sm">–</Text>
  const Icon = reached ? IconCheck : IconMinus
  return (
    <Group gap={4} wrap="nowrap">
      <Icon size={14} aria-hidden />
      <Text size="sm">{t(reached ? 'goal.reached' : 'goal.missed')}</Text>
    </Group>
  )
}

/** `projects` maps project IDs to names; without it the project column is omitted. */
export function useCallColumns(projects: ReadonlyMap<string, string> | null): Column<Call>[] {
  const { t } = useTranslation('calls')
  const { t: common } = useTranslation()
  const small = (text: string | null) => <Text size="sm">{text ?? '–'}</Text>
  const unbroken = (text: string | null) => <div style={UNBROKEN}>{small(text)}</div>
  const columns: (Column<Call> | false)[] = [
    {
      key: 'time',
      header: t('columns.time'),
      cell: ({ created_at }) => unbroken(dateTime(created_at)),
    },
    {
      key: 'parties',
      header: t('columns.parties'),
      cell: call => (
        <Group gap="xs" wrap="nowrap">
          <DirectionIcon direction={call.direction} />
          <CallLink call={call} />
        </Group>
      ),
    },
    projects !== null && {
      key: 'project',
      header: t('columns.project'),
      cell: ({ project_id }) => small(projects.get(project_id) ?? null),
    },
    { key: 'status', header: common('status'), cell: ({ status }) => <CallStatusBadge status={status} /> },
    {
      key: 'duration',
      header: t('columns.duration'),
      align: 'right',
      cell: ({ duration_seconds: seconds }) => unbroken(seconds === null ? null : duration(seconds)),
    },
    {
      key: 'cost',
      header: t('columns.cost'),
      align: 'right',
      cell: ({ cost }) => unbroken(cost && money(cost)),
    },
    {
      key: 'goal',
      header: t('columns.goal'),
      cell: ({ answered_at, goal_reached }) => <Goal reached={answered_at === null ? null : goal_reached} />,
    },
    {
      key: 'reason',
      header: t('columns.reason'),
      cell: ({ ended_reason }) => (
        <div style={{ minWidth: 160 }}>{small(ended_reason && t(`reasons.${ended_reason}`))}</div>
      ),
    },
  ]
  return columns.filter(column => column !== false)
}
