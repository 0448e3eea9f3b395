/** The live transcript with tool calls. */
import { Text } from '@mantine/core'
import { useEffect, useRef } from 'react'
import { useTranslation } from 'react-i18next'
import { milliseconds } from '../ui/format.ts'
import type { Latency, Line, SpokenLine, ToolLine } from './story.ts'
import './conversation.css'

interface LogProps {
  label: string
  lines: readonly Line[]
  /** Speaker labels by role. */
  who: Record<SpokenLine['role'], string>
  /** Text shown while the transcript is empty. */
  empty: string
}

/** If the scroll position is within this distance of the end, new lines scroll into view. */
const READS_ALONG_PX = 60

export function Log({ label, lines, who, empty }: LogProps) {
  const box = useRef<HTMLDivElement>(null)
  const readsAlong = useRef(true)
  // biome-ignore lint/correctness/useExhaustiveDependencies: run for every new line
  useEffect(() => {
    if (box.current && readsAlong.current) box.current.scrollTop = box.current.scrollHeight
  }, [lines])
  const onScroll = () => {
    const { scrollTop, scrollHeight, clientHeight } = box.current!
    readsAlong.current = scrollHeight - scrollTop - clientHeight < READS_ALONG_PX
  }
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboard users must be able to scroll it
    <div ref={box} className="talk-log" role="log" aria-label={label} tabIndex={0} onScroll={onScroll}>
      {lines.length === 0 && (
        <Text size="sm" c="dimmed" m="auto">
          {empty}
        </Text>
      )}
      {lines.map(line =>
        line.kind === 'tool' ? (
          <Tool key={line.id} line={line} />
        ) : (
          <Spoken key={line.id} line={line} who={who[line.role]} />
        ),
      )}
    </div>
  )
}

function Spoken({ line, who }: { line: SpokenLine; who: string }) {
  const { t } = useTranslation('talk')
  const { role, text, final, interrupted, latency } = line
  // Screen readers announce the line once it is final.
  return (
    <div className="talk-line" data-role={role} data-final={final} aria-busy={!final}>
      <Text size="xs" c="dimmed">
        {who}
      </Text>
      <Text className="talk-words">{text}</Text>
      {interrupted && (
        <Text size="xs" c="dimmed">
          {t('interrupted')}
        </Text>
      )}
      {latency && <Waited latency={latency} />}
    </div>
  )
}

function Waited({ latency }: { latency: Latency }) {
  const { t } = useTranslation('talk')
  const { total_ms, endpointing_ms, stt_ms, llm_first_token_ms, tts_first_byte_ms, filler } = latency
  const parts = [
    t('latency.pause', { time: milliseconds(endpointing_ms) }),
    t('latency.hearing', { time: milliseconds(stt_ms) }),
    t('latency.model', { time: milliseconds(llm_first_token_ms) }),
    t('latency.voice', { time: milliseconds(tts_first_byte_ms) }),
  ]
  return (
    <Text size="xs" c="dimmed">
      {t(filler ? 'latency.filler' : 'latency.total', { time: milliseconds(total_ms) })} ({parts.join(', ')})
    </Text>
  )
}

function Tool({ line: { name, done } }: { line: ToolLine }) {
  const { t } = useTranslation('talk')
  if (!done) {
    return (
      <Text className="talk-tool" c="dimmed">
        {t('tool.running', { name })}
      </Text>
    )
  }
  const { status, ms, result, arguments: given } = done
  return (
    <details className="talk-tool">
      <summary>{t('tool.done', { name, status: t(`toolStatus.${status}`), time: milliseconds(ms) })}</summary>
      <Text size="xs" c="dimmed">
        {t('tool.arguments')}
      </Text>
      <pre>{JSON.stringify(given, null, 2)}</pre>
      <Text size="xs" c="dimmed">
        {t('tool.result')}
      </Text>
      <pre>{result}</pre>
    </details>
  )
}
