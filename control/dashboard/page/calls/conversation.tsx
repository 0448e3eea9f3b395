import { Text } from '@mantine/core'
import { useMemo } from 'react'
import { useTranslation } from 'react-i18next'
import { usePlayer } from './player.ts'
import type { CallDetail } from './queries.ts'
import { Recording } from './recording.tsx'
import { Section } from './section.tsx'
import { entryAt, timelineOf } from './timeline.ts'
import { Transcript } from './transcript.tsx'

/** The recording and the transcript, synchronized. */
export function Conversation({ call }: { call: CallDetail }) {
  const { t } = useTranslation('calls')
  const player = usePlayer()
  const entries = useMemo(() => timelineOf(call), [call])
  const recorded = call.recording_url !== null
  const begun = player.playing || player.time > 0
  return (
    <Section title={t('conversation.title')}>
      {recorded ? (
        <Recording call={call} player={player} />
      ) : (
        <Text size="sm" c="dimmed">
          {t('conversation.noRecording')}
        </Text>
      )}
      <Transcript
        entries={entries}
        projectId={call.project_id}
        playing={begun ? entryAt(entries, player.time * 1000) : -1}
        onPlay={recorded && !player.failed ? player.playFrom : null}
      />
    </Section>
  )
}
