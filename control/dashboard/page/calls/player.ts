/** Controls playback of the recording. The audio element holds the state; this hook reports it. */
import { useCallback, useEffect, useMemo, useState } from 'react'

export interface Player {
  /** Ref callback for the audio element. */
  attach: (audio: HTMLAudioElement | null) => void
  audio: HTMLAudioElement | null
  playing: boolean
  /** Position in seconds. */
  time: number
  /** Duration in seconds; 0 until it is known. */
  total: number
  failed: boolean
  toggle(): void
  seek(seconds: number): void
  /** Skips relative to the element's own position: `time` lags behind until the next render. */
  skip(seconds: number): void
  playFrom(seconds: number): void
}

const WATCHED = ['play', 'pause', 'ended', 'timeupdate', 'seeking', 'durationchange', 'error'] as const

interface Seen {
  playing: boolean
  time: number
  total: number
  failed: boolean
}
const NOTHING: Seen = { playing: false, time: 0, total: 0, failed: false }

export function usePlayer(): Player {
  const [audio, attach] = useState<HTMLAudioElement | null>(null)
  const [seen, setSeen] = useState(NOTHING)
  useEffect(() => {
    if (audio === null) return
    const look = () => setSeen(stateOf(audio))
    for (const name of WATCHED) audio.addEventListener(name, look)
    look()
    return () => {
      for (const name of WATCHED) audio.removeEventListener(name, look)
    }
  }, [audio])
  const seek = useCallback(
    (seconds: number) => {
      if (audio === null) return
      const end = Number.isFinite(audio.duration) ? audio.duration : seconds
      audio.currentTime = Math.max(0, Math.min(seconds, end))
    },
    [audio],
  )
  return useMemo(
    () => ({
      ...seen,
      attach,
      audio,
      seek,
      skip(seconds) {
        if (audio !== null) seek(audio.currentTime + seconds)
      },
      toggle: () => (audio?.paused ? play(audio) : audio?.pause()),
      playFrom(seconds) {
        seek(seconds)
        if (audio !== null) play(audio)
      },
    }),
    [seen, audio, seek],
  )
}

const stateOf = (audio: HTMLAudioElement): Seen => ({
  playing: !audio.paused && !audio.ended,
  time: audio.currentTime,
  total: Number.isFinite(audio.duration) ? audio.duration : 0,
  failed: audio.error !== null,
})

/** `play()` rejects if it is paused before it starts; playback failures are reported by `error` on the element. */
const play = (audio: HTMLAudioElement) => void audio.play().catch(() => {})
