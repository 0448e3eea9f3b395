/** The recording with its player, waveform and download link. */
import { ActionIcon, Alert, Button, Group, NativeSelect, Skeleton, Stack, Text } from '@mantine/core'
import { IconDownload, IconPlayerPauseFilled, IconPlayerPlayFilled } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import type { TFunction } from 'i18next'
import { type KeyboardEvent, lazy, Suspense, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { duration, number } from '../ui/format.ts'
import type { Player } from './player.ts'
import { type CallDetail, recordingPath } from './queries.ts'
import { type Peaks, readPeaks } from './wav-peaks.ts'

const Waveform = lazy(() => import('./waveform.tsx'))

const DRAWN_PARTS = 2000
/** Recordings up to this length (29 MB) load their waveform automatically. */
const DRAWN_SECONDS = 900
/** 8 kHz, stereo, 16-bit samples. */
const BYTES_A_SECOND = 32_000
const SKIP_SECONDS = 5
const JUMP_SECONDS = 30
const SPEEDS = [1, 1.25, 1.5, 2]

const peaksQuery = (id: string) => ({
  queryKey: ['calls', id, 'peaks'],
  async queryFn({ signal }: { signal: AbortSignal }) {
    const { ok, status, body } = await fetch(recordingPath(id), { signal, credentials: 'same-origin' })
    if (!ok || body === null) throw new Error(`recording: ${status}`)
    return readPeaks(body, DRAWN_PARTS)
  },
  staleTime: Number.POSITIVE_INFINITY,
  retry: false,
})

export function Recording({ call, player }: { call: CallDetail; player: Player }) {
  const { t } = useTranslation('calls')
  return (
    <Stack gap="xs" role="group" aria-label={t('player.region')}>
      {/* biome-ignore lint/a11y/useMediaCaption: the transcript is below */}
      <audio ref={player.attach} src={recordingPath(call.id)} preload="metadata" />
      {player.failed ? (
        <Alert color="red" variant="light" role="alert" title={t('player.notPlayed')} />
      ) : (
        <>
          <Track call={call} player={player} />
          <Controls callId={call.id} player={player} />
        </>
      )}
    </Stack>
  )
}

/** The seek bar. The waveform of a long recording is loaded only on request, because it needs the whole file. */
function Track({ call, player }: { call: CallDetail; player: Player }) {
  const { t } = useTranslation('calls')
  const seconds = call.duration_seconds ?? 0
  const [asked, ask] = useState(seconds <= DRAWN_SECONDS)
  const peaks = useQuery({ ...peaksQuery(call.id), enabled: asked })
  if (asked && !peaks.isError) return <Waves peaks={peaks.data} player={player} />
  return (
    <Stack gap={4}>
      <input
        type="range"
        min={0}
        max={Math.round(player.total)}
        value={Math.round(player.time)}
        onChange={event => player.seek(Number(event.currentTarget.value))}
        {...position(t, player)}
      />
      {peaks.isError ? (
        <Text size="sm" c="dimmed">
          {t('player.notDrawn')}
        </Text>
      ) : (
        <Button variant="subtle" size="compact-sm" onClick={() => ask(true)} style={{ alignSelf: 'flex-start' }}>
          {t('player.draw', { megabytes: number(Math.round((seconds * BYTES_A_SECOND) / 1e6)) })}
        </Button>
      )}
    </Stack>
  )
}

const position = (t: TFunction<'calls'>, { time, total }: Player) => ({
  'aria-label': t('player.position'),
  'aria-valuetext': t('player.at', { time: duration(time), total: duration(total) }),
})

function Waves({ peaks, player }: { peaks: Peaks | undefined; player: Player }) {
  const { t } = useTranslation('calls')
  const { time, total, audio } = player
  const waiting = <Skeleton height={88} aria-label={t('player.drawing')} />
  return (
    <div className="call-track">
      <div className="call-sides" aria-hidden>
        <Text size="xs" className="call-side" data-role="caller">
          {t('roles.caller')}
        </Text>
        <Text size="xs" className="call-side">
          {t('roles.agent')}
        </Text>
      </div>
      <div
        role="slider"
        tabIndex={0}
        className="call-wave"
        aria-valuemin={0}
        aria-valuemax={Math.round(total)}
        aria-valuenow={Math.round(time)}
        {...position(t, player)}
        onKeyDown={event => onKey(event, player)}
      >
        <Suspense fallback={waiting}>{audio && peaks ? <Waveform audio={audio} peaks={peaks} /> : waiting}</Suspense>
      </div>
    </div>
  )
}

function onKey(event: KeyboardEvent, { total, seek, skip, toggle }: Player): void {
  const moves: Record<string, () => void> = {
    ' ': toggle,
    ArrowLeft: () => skip(-SKIP_SECONDS),
    ArrowRight: () => skip(SKIP_SECONDS),
    ArrowDown: () => skip(-SKIP_SECONDS),
    ArrowUp: () => skip(SKIP_SECONDS),
    PageDown: () => skip(-JUMP_SECONDS),
    PageUp: () => skip(JUMP_SECONDS),
    Home: () => seek(0),
    End: () => seek(total),
  }
  const move = moves[event.key]
  if (!move || event.ctrlKey || event.metaKey || event.altKey) return
  event.preventDefault()
  move()
}

function Controls({ callId, player }: { callId: string; player: Player }) {
  const { t } = useTranslation('calls')
  const [speed, setSpeed] = useState('1')
  const { playing, time, total, audio } = player
  const faster = (value: string) => {
    setSpeed(value)
    if (audio) audio.playbackRate = Number(value)
  }
  return (
    <Group gap="sm">
      <ActionIcon
        size="lg"
        radius="xl"
        onClick={player.toggle}
        aria-label={t(playing ? 'player.pause' : 'player.play')}
      >
        {playing ? <IconPlayerPauseFilled size={18} /> : <IconPlayerPlayFilled size={18} />}
      </ActionIcon>
      <Text size="sm" className="call-clock">
        {duration(time)} / {duration(total)}
      </Text>
      <NativeSelect
        size="xs"
        aria-label={t('player.speed')}
        value={speed}
        onChange={event => faster(event.currentTarget.value)}
        data={SPEEDS.map(value => ({ value: String(value), label: `${value}×` }))}
      />
      <Text size="xs" c="dimmed" flex={1} visibleFrom="sm">
        {t('player.keys')}
      </Text>
      <Button
        component="a"
        href={recordingPath(callId)}
        download={`${callId}.wav`}
        variant="default"
        size="xs"
        leftSection={<IconDownload size={14} aria-hidden />}
      >
        {t('player.download')}
      </Button>
    </Group>
  )
}
