/** Audio playback, level meters and the mute button of a joined room. */
import { RoomAudioRenderer, RoomContext, useAudioPlayback, useTracks } from '@livekit/components-react'
import { Button, Stack } from '@mantine/core'
import { IconMicrophone, IconMicrophoneOff } from '@tabler/icons-react'
import { type LocalAudioTrack, RemoteAudioTrack, type Room, Track } from 'livekit-client'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { Level } from './level.tsx'

interface RoomPartsProps {
  room: Room
  microphone: LocalAudioTrack | null
  /** Label of the remote audio. */
  remote: string
}

export default function RoomParts({ room, microphone, remote }: RoomPartsProps) {
  const { t } = useTranslation('talk')
  return (
    <RoomContext.Provider value={room}>
      <RoomAudioRenderer />
      <Stack gap="xs">
        <Unblock />
        <RemoteLevel label={remote} />
        {microphone && <Level track={microphone} label={t('microphone')} />}
      </Stack>
    </RoomContext.Provider>
  )
}

/** Browsers block audio until the user interacts with the page. */
function Unblock() {
  const { t } = useTranslation('talk')
  const { canPlayAudio, startAudio } = useAudioPlayback()
  if (canPlayAudio) return null
  return <Button onClick={startAudio}>{t('unblock')}</Button>
}

function RemoteLevel({ label }: { label: string }) {
  const tracks = useTracks([Track.Source.Microphone, Track.Source.Unknown], { onlySubscribed: true })
  const heard = tracks.map(({ publication }) => publication.track).find(track => track instanceof RemoteAudioTrack)
  return <Level track={heard} label={label} />
}

export function MuteButton({ microphone }: { microphone: LocalAudioTrack }) {
  const { t } = useTranslation('talk')
  const [muted, setMuted] = useState(microphone.isMuted)
  const toggle = async () => {
    await (microphone.isMuted ? microphone.unmute() : microphone.mute())
    setMuted(microphone.isMuted)
  }
  const Icon = muted ? IconMicrophoneOff : IconMicrophone
  return (
    <Button
      variant={muted ? 'filled' : 'default'}
      color="gray.7"
      leftSection={<Icon size={16} aria-hidden />}
      onClick={toggle}
    >
      {muted ? t('unmute') : t('mute')}
    </Button>
  )
}
