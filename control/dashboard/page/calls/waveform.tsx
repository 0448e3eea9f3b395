/** The waveform of both sides, the caller on top. The only importer of wavesurfer.js. */
import { useComputedColorScheme, useMantineTheme } from '@mantine/core'
import { useEffect, useRef } from 'react'
import WaveSurfer from 'wavesurfer.js'
import { nonce } from '../ui/nonce.ts'
import type { Peaks } from './wav-peaks.ts'

const SIDE_PX = 44

/** Shows the position of an `audio` element that is controlled elsewhere; a click seeks. */
export default function Waveform({ audio, peaks }: { audio: HTMLAudioElement; peaks: Peaks }) {
  const place = useRef<HTMLDivElement>(null)
  const scheme = useComputedColorScheme('light')
  const { colors } = useMantineTheme()
  useEffect(() => {
    if (place.current === null) return
    const shade = scheme === 'dark' ? 4 : 6
    const side = (name: 'blue' | 'parley') => ({
      height: SIDE_PX,
      waveColor: `${colors[name]![shade]}80`,
      progressColor: colors[name]![shade],
    })
    const wave = WaveSurfer.create({
      container: place.current,
      media: audio,
      peaks: peaks.channels,
      duration: peaks.seconds,
      splitChannels: [side('blue'), side('parley')],
      cursorColor: scheme === 'dark' ? '#fff' : '#000',
      cursorWidth: 1,
      barWidth: 2,
      barGap: 1,
      normalize: true,
      hideScrollbar: true,
      dragToSeek: true,
      cspNonce: nonce(),
    })
    return () => wave.destroy()
  }, [audio, peaks, scheme, colors])
  return <div ref={place} />
}
