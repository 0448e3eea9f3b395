/** The transcript with the tool calls, in chronological order. */
import { Text } from '@mantine/core'
import { useEffect, useRef } from 'react'
import { useTranslation } from 'react-i18next'
import type { Entry } from './timeline.ts'
import { ToolUse } from './tool-use.tsx'
import { TurnLine } from './turn-line.tsx'

interface TranscriptProps {
  entries: Entry[]
  projectId: string
  /** Index of the entry that is playing, or -1. */
  playing: number
  /** Plays from a position in seconds; null if there is no recording. */
  onPlay: ((seconds: number) => void) | null
}

export function Transcript({ entries, projectId, playing, onPlay }: TranscriptProps) {
  const { t } = useTranslation('calls')
  const list = useRef<HTMLOListElement>(null)
  useEffect(() => {
    const item = playing < 0 ? null : list.current?.children.item(playing)
    if (list.current && item instanceof HTMLElement) intoView(list.current, item)
  }, [playing])
  if (entries.length === 0) return <Text c="dimmed">{t('conversation.empty')}</Text>
  return (
    <ol
      ref={list}
      className="call-transcript"
      aria-label={t('conversation.transcript')}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboard users must be able to scroll it
      tabIndex={0}
    >
      {entries.map((entry, index) =>
        entry.kind === 'turn' ? (
          <TurnLine key={entry.id} turn={entry.turn} current={index === playing} onPlay={onPlay} />
        ) : (
          <ToolUse key={entry.id} tool={entry.tool} projectId={projectId} />
        ),
      )}
    </ol>
  )
}

/** Scrolls only the list; the page must not move. */
function intoView(list: HTMLElement, item: HTMLElement): void {
  const [top, bottom] = [item.offsetTop, item.offsetTop + item.offsetHeight]
  if (top >= list.scrollTop && bottom <= list.scrollTop + list.clientHeight) return
  const calm = window.matchMedia('(prefers-reduced-motion: reduce)').matches
  list.scrollTo({ top: top - list.clientHeight / 3, behavior: calm ? 'auto' : 'smooth' })
}
