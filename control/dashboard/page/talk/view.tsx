/** A browser call: state, buttons, sound and transcript. LiveKit is loaded when the view is shown. */
import { Button, Group, Stack, Text } from '@mantine/core'
import { IconMicrophone, IconPhoneOff } from '@tabler/icons-react'
import { lazy, type ReactNode, Suspense, useEffect } from 'react'
import { useTranslation } from 'react-i18next'
import { Log } from '../conversation/log.tsx'
import { TypeLine } from '../conversation/type-line.tsx'
import type { Talk } from './dialogues.ts'

const loadParts = () => import('../conversation/room-parts.tsx')
const RoomParts = lazy(loadParts)
const MuteButton = lazy(async () => ({ default: (await loadParts()).MuteButton }))

interface TalkViewProps {
  label: string
  talk: Talk
  /** Shown instead of the state while the call can't start; null once it can. */
  blocked?: string | null
  problem: ReactNode
  /** The choices before a call. */
  children?: ReactNode
  /** Shown below the transcript. */
  footer?: ReactNode
  onStart: () => void
  onHangUp: () => void
}

/** Fills its container. */
export function TalkView({ label, talk, blocked = null, problem, children, footer, onStart, onHangUp }: TalkViewProps) {
  const { t } = useTranslation('talk')
  const { state, dialogue, isStarting } = talk
  useLoadedEarly()
  return (
    <Stack component="section" gap="sm" aria-label={label}>
      <Group gap="xs" wrap="nowrap" role="status" aria-live="polite">
        <span className="talk-lamp" data-state={state} aria-hidden />
        <Text size="sm">{(state === 'ready' && blocked) || t(`states.${state}`)}</Text>
      </Group>
      <Group gap="xs">
        <MainButton
          live={dialogue !== null}
          busy={isStarting}
          again={state === 'ended' || state === 'failed'}
          disabled={blocked !== null}
          onTalk={onStart}
          onHangUp={onHangUp}
        />
        <Suspense>{dialogue && <MuteButton microphone={dialogue.microphone} />}</Suspense>
      </Group>
      {problem}
      <Suspense>
        {dialogue && <RoomParts room={dialogue.room} microphone={dialogue.microphone} remote={t('agent')} />}
      </Suspense>
      {!dialogue && !isStarting && children}
      <Log
        label={t('transcript')}
        lines={talk.lines}
        who={{ caller: t('you'), agent: t('agent'), operator: t('operator'), whisper: t('operator') }}
        empty={t('empty')}
      />
      {dialogue && <TypeLine label={t('type')} onSend={dialogue.type} />}
      {footer}
    </Stack>
  )
}

/** Preloads LiveKit before the user presses the button. If loading fails, pressing the button reports it. */
function useLoadedEarly(): void {
  useEffect(() => {
    void Promise.all([loadParts(), import('./room.ts')]).catch(() => {})
  }, [])
}

interface MainButtonProps {
  live: boolean
  busy: boolean
  again: boolean
  disabled: boolean
  onTalk: () => void
  onHangUp: () => void
}

/** One button starts and ends the call, so that it keeps the focus. */
function MainButton({ live, busy, again, disabled, onTalk, onHangUp }: MainButtonProps) {
  const { t } = useTranslation('talk')
  if (live || busy) {
    return (
      <Button color="red.9" leftSection={<IconPhoneOff size={16} aria-hidden />} onClick={onHangUp}>
        {live ? t('hangUp') : t('giveUp')}
      </Button>
    )
  }
  return (
    <Button leftSection={<IconMicrophone size={16} aria-hidden />} disabled={disabled} onClick={onTalk}>
      {again ? t('again') : t('talk')}
    </Button>
  )
}
