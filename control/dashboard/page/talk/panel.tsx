/** The talk panel for a project. LiveKit is loaded only when the panel is shown. */
import { Button, Group, Stack, Text } from '@mantine/core'
import { IconMicrophone, IconPhoneOff } from '@tabler/icons-react'
import { lazy, Suspense, useEffect, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { Given, type GivenValues, givenBody } from '../conversation/given.tsx'
import { Log } from '../conversation/log.tsx'
import { Refusal } from '../conversation/refusal.tsx'
import { TypeLine } from '../conversation/type-line.tsx'
import type { TalkState } from './dialogues.ts'
import { Ended } from './ended.tsx'
import { useDialogue } from './use-dialogue.ts'

const loadParts = () => import('../conversation/room-parts.tsx')
const RoomParts = lazy(loadParts)
const MuteButton = lazy(async () => ({ default: (await loadParts()).MuteButton }))

/** Fills its container. */
export function TalkPanel({ projectId }: { projectId: string }) {
  const { t } = useTranslation(['talk', 'calls'])
  const talk = useDialogue(projectId)
  const { state, dialogue, isStarting, hangUp } = talk
  const [given, setGiven] = useState<GivenValues>({ task: '', vars: {} })
  useLoadedEarly()
  const start = () => {
    talk.start({ project_id: projectId, ...givenBody(given) })
  }
  return (
    <Stack component="section" gap="sm" aria-label={t('title')}>
      <Status state={state} />
      <Group gap="xs">
        <MainButton
          live={dialogue !== null}
          busy={isStarting}
          again={state === 'ended' || state === 'failed'}
          onTalk={start}
          onHangUp={hangUp}
        />
        <Suspense>{dialogue && <MuteButton microphone={dialogue.microphone} />}</Suspense>
      </Group>
      {talk.problem !== null && <Refusal error={talk.problem} projectId={projectId} />}
      <Suspense>
        {dialogue && <RoomParts room={dialogue.room} microphone={dialogue.microphone} remote={t('agent')} />}
      </Suspense>
      {!dialogue && !isStarting && <Given projectId={projectId} values={given} onChange={setGiven} />}
      <Log
        label={t('transcript')}
        lines={talk.lines}
        who={{ caller: t('you'), agent: t('agent'), operator: t('operator'), whisper: t('operator') }}
        empty={t('empty')}
      />
      {dialogue && <TypeLine label={t('type')} onSend={dialogue.type} />}
      {talk.ended && (
        <Ended reason={talk.problem === null ? talk.ended.reason : null} call={talk.callId} ready={talk.isStored} />
      )}
    </Stack>
  )
}

export default TalkPanel

/** Preloads LiveKit before the user presses the button. If loading fails, pressing the button reports it. */
function useLoadedEarly(): void {
  useEffect(() => {
    void Promise.all([loadParts(), import('./room.ts')]).catch(() => {})
  }, [])
}

function Status({ state }: { state: TalkState }) {
  const { t } = useTranslation('talk')
  return (
    <Group gap="xs" wrap="nowrap" role="status" aria-live="polite">
      <span className="talk-lamp" data-state={state} aria-hidden />
      <Text size="sm">{t(`states.${state}`)}</Text>
    </Group>
  )
}

interface MainButtonProps {
  live: boolean
  busy: boolean
  again: boolean
  onTalk: () => void
  onHangUp: () => void
}

/** One button starts and ends the call, so that it keeps the focus. */
function MainButton({ live, busy, again, onTalk, onHangUp }: MainButtonProps) {
  const { t } = useTranslation('talk')
  if (live || busy) {
    return (
      <Button color="red.9" leftSection={<IconPhoneOff size={16} aria-hidden />} onClick={onHangUp}>
        {live ? t('hangUp') : t('giveUp')}
      </Button>
    )
  }
  return (
    <Button leftSection={<IconMicrophone size={16} aria-hidden />} onClick={onTalk}>
      {again ? t('again') : t('talk')}
    </Button>
  )
}
