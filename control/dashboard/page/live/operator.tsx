/** Controls for monitoring a call: listen, whisper, take over, leave. */
import { Button, Group, Stack, Text, Title } from '@mantine/core'
import { IconEar, IconHeadset, IconMessage2, IconX } from '@tabler/icons-react'
import { lazy, Suspense } from 'react'
import { useTranslation } from 'react-i18next'
import type { MonitorMode } from '../conversation/events.ts'
import { Refusal } from '../conversation/refusal.tsx'
import { TypeLine } from '../conversation/type-line.tsx'
import type { OwnSeat } from './use-seat.ts'

const loadParts = () => import('../conversation/room-parts.tsx')
const RoomParts = lazy(loadParts)
const MuteButton = lazy(async () => ({ default: (await loadParts()).MuteButton }))

const icons = { listen: IconEar, whisper: IconMessage2, takeover: IconHeadset }
const modeNames = ['listen', 'whisper', 'takeover'] as const satisfies readonly MonitorMode[]

interface OperatorProps {
  own: OwnSeat
  /** Modes of everyone who monitors the call. */
  modes: Readonly<Record<string, MonitorMode>>
}

export function Operator({ own, modes }: OperatorProps) {
  const { t } = useTranslation('live')
  const { seat } = own
  const mode = seat ? (modes[seat.id] ?? null) : null
  const others = Object.entries(modes).flatMap(([id, other]) => (id === seat?.id ? [] : [other]))
  return (
    <Stack gap="xs">
      <Title order={2} size="h4">
        {t('follow')}
      </Title>
      <Group gap="xs" role="group" aria-label={t('follow')}>
        {modeNames.map(name => (
          <ModeButton key={name} name={name} mode={mode} own={own} />
        ))}
        {seat && (
          <Button variant="subtle" color="gray" leftSection={<IconX size={16} aria-hidden />} onClick={own.leave}>
            {t('leave')}
          </Button>
        )}
      </Group>
      <WhoHearsWhom mode={mode} joining={own.wanted !== null || (seat !== null && mode === null)} others={others} />
      {own.problem !== null && <Refusal error={own.problem} projectId={null} />}
      {seat && (
        <Suspense>
          <RoomParts room={seat.room} microphone={seat.microphone} remote={t('call')} />
          {seat.microphone && (
            <Group>
              <MuteButton microphone={seat.microphone} />
            </Group>
          )}
        </Suspense>
      )}
      {seat && (mode === 'whisper' || mode === 'takeover') && <Instruct seat={seat} />}
    </Stack>
  )
}

function ModeButton({ name, mode, own }: { name: MonitorMode; mode: MonitorMode | null; own: OwnSeat }) {
  const { t } = useTranslation('live')
  const Icon = icons[name]
  const isOn = mode === name
  const isBack = name === 'listen' && mode === 'takeover'
  return (
    <Button
      variant={isOn ? 'filled' : 'default'}
      color={isOn && name === 'takeover' ? 'red.9' : undefined}
      aria-pressed={isOn}
      leftSection={<Icon size={16} aria-hidden />}
      loading={own.wanted === name}
      disabled={own.isPending && own.wanted !== name}
      onClick={() => !isOn && own.take(name)}
    >
      {isBack ? t('handBack') : t(`modes.${name}`)}
    </Button>
  )
}

interface HearsProps {
  mode: MonitorMode | null
  joining: boolean
  others: readonly MonitorMode[]
}

/** States explicitly who hears whom, because a mistake means speaking to the wrong person. */
function WhoHearsWhom({ mode, joining, others }: HearsProps) {
  const { t } = useTranslation('live')
  const isTaken = others.includes('takeover')
  return (
    <Stack gap={4}>
      <Text size="sm" role="status" fw={mode ? 600 : undefined}>
        {joining ? t('joining') : t(`now.${mode ?? 'away'}`)}
      </Text>
      {mode && mode !== 'takeover' && (
        <Text size="sm" c="dimmed">
          {isTaken ? t('callerHears.colleague') : t('callerHears.agent')}
        </Text>
      )}
      {others.length > 0 && (
        <Text size="sm" c="dimmed">
          {t('others', { count: others.length })}
          {isTaken && ` ${t('othersTook')}`}
        </Text>
      )}
    </Stack>
  )
}

function Instruct({ seat }: { seat: NonNullable<OwnSeat['seat']> }) {
  const { t } = useTranslation('live')
  const send = async (text: string) => (await import('./seat.ts')).whisper(seat, text)
  return <TypeLine label={t('instruct')} onSend={send} />
}
