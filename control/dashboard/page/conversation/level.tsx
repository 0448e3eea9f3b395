/** An audio level meter; a text label if the user prefers reduced motion. */
import { useTrackVolume } from '@livekit/components-react'
import { Group, Text } from '@mantine/core'
import { useReducedMotion } from '@mantine/hooks'
import type { LocalAudioTrack, RemoteAudioTrack } from 'livekit-client'
import { useTranslation } from 'react-i18next'

/** RMS level, as a share of full scale, that speech seldom exceeds. */
const LOUD = 0.6
const AUDIBLE = 0.05

export function Level({ track, label }: { track: LocalAudioTrack | RemoteAudioTrack | undefined; label: string }) {
  const { t } = useTranslation('talk')
  const still = useReducedMotion()
  const level = Math.min(1, useTrackVolume(track) / LOUD)
  return (
    <Group gap="xs" wrap="nowrap">
      <Text size="sm" miw={92}>
        {label}
      </Text>
      {still ? (
        <Text size="sm" c="dimmed">
          {level > AUDIBLE ? t('sound') : t('quiet')}
        </Text>
      ) : (
        <meter className="talk-level" aria-label={label} min={0} max={1} value={level} />
      )}
    </Group>
  )
}
