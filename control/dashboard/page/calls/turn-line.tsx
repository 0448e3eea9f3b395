import { Badge, Button, Group, Text } from '@mantine/core'
import { IconPlayerPlay } from '@tabler/icons-react'
import { memo } from 'react'
import { useTranslation } from 'react-i18next'
import { duration } from '../ui/format.ts'
import { heardIn, type Turn } from './timeline.ts'

interface TurnLineProps {
  turn: Turn
  current: boolean
  onPlay: ((seconds: number) => void) | null
}

export const TurnLine = memo(function TurnLine({ turn, current, onPlay }: TurnLineProps) {
  const { t } = useTranslation('calls')
  const { role, started_ms, interrupted } = turn
  return (
    <li className="call-entry" data-role={role} aria-current={current || undefined}>
      <Group gap="xs">
        <Text size="sm" fw={600}>
          {t(`roles.${role}`)}
        </Text>
        <At ms={started_ms} onPlay={onPlay} />
        {interrupted && (
          <Badge variant="default" tt="none" fw={500} title={t('turn.notHeardHint')}>
            {t('turn.interrupted')}
          </Badge>
        )}
      </Group>
      {role === 'agent' ? <Spoken turn={turn} /> : <Text size="sm">{turn.text}</Text>}
    </li>
  )
})

/** Start time of the turn; a button that plays from there if there is a recording. */
export function At({ ms, onPlay }: { ms: number; onPlay: ((seconds: number) => void) | null }) {
  const { t } = useTranslation('calls')
  const time = duration(Math.max(0, ms) / 1000)
  if (onPlay === null) {
    return (
      <Text size="xs" c="dimmed" className="call-clock">
        {time}
      </Text>
    )
  }
  return (
    <Button
      variant="subtle"
      size="compact-xs"
      className="call-clock"
      leftSection={<IconPlayerPlay size={12} aria-hidden />}
      aria-label={t('turn.play', { time })}
      onClick={() => onPlay(ms / 1000)}
    >
      {time}
    </Button>
  )
}

/** The played text, followed by the struck-through text that was generated but never played. */
function Spoken({ turn: { text, heard_text, interrupted } }: { turn: Turn }) {
  const { t } = useTranslation('calls')
  const found = heardIn(text, heard_text)
  if (!interrupted && (found === null || found.rest.trim() === '')) return <Text size="sm">{heard_text || text}</Text>
  const [heard, rest] = found ? [found.heard, found.rest] : [heard_text, ` ${text}`]
  return (
    <Text size="sm">
      {heard}
      {rest.trim() !== '' && (
        <>
          {' '}
          <span className="visually-hidden">{t('turn.notHeard')}</span>
          <s className="call-unheard">{rest.trim()}</s>
        </>
      )}
    </Text>
  )
}
