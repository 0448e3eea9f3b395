import { Text, UnstyledButton } from '@mantine/core'
import { useId, useState } from 'react'
import { useTranslation } from 'react-i18next'
import type { Schemas } from '../api/types.ts'
import { CopyBlock } from '../ui/copy.tsx'
import { milliseconds } from '../ui/format.ts'
import { type Ladder as Drawn, ladderOf, type Rung } from './ladder-shape.ts'

/** A SIP ladder diagram: endpoints as columns, messages as arrows. A message expands to its text. */
export function Ladder({ trace }: { trace: Schemas['SipTrace'] }) {
  const { t } = useTranslation('calls')
  const ladder = ladderOf(trace)
  const { ends, rungs } = ladder
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls with many endpoints; keyboard users must be able to scroll it
    <section className="ladder" aria-label={t('sip.title')} tabIndex={0}>
      <div className="ladder-inner" style={{ minWidth: 90 + (ends.length > 1 ? 150 : 110) * (ends.length + 1) }}>
        <Ends ends={ends} />
        <ol className="ladder-rungs" aria-label={t('sip.list')}>
          {rungs.map(rung => (
            <Step key={rung.index} rung={rung} ladder={ladder} />
          ))}
        </ol>
      </div>
    </section>
  )
}

/** Horizontal position of a column, in percent. */
const middle = (column: number, columns: number) => 10 + (80 * column) / (columns - 1)

/** Shifts a column's label by the column's own relative position, so that no label overflows the diagram. */
const placeOf = (percent: number) => ({ left: `${percent}%`, transform: `translateX(-${percent}%)` })

function Ends({ ends }: { ends: string[] }) {
  const { t } = useTranslation('calls')
  return (
    <div className="ladder-row" aria-hidden>
      <span />
      <div className="ladder-ends">
        {[t('sip.us'), ...ends].map((end, at) => (
          <Text
            key={end}
            size="xs"
            fw={600}
            className="ladder-end"
            title={end}
            style={placeOf(middle(at, ends.length + 1))}
          >
            {end}
          </Text>
        ))}
      </div>
    </div>
  )
}

function Step({ rung, ladder }: { rung: Rung; ladder: Drawn }) {
  const { t } = useTranslation('calls')
  const [opened, setOpened] = useState(false)
  const id = useId()
  const { message, label, sound, after_ms, shows_cause } = rung
  const after = rung.index === 0 ? milliseconds(0) : `+${milliseconds(after_ms)}`
  const way = message.generated ? t('sip.generated') : t(message.sent ? 'sip.sent' : 'sip.received')
  const end = ladder.ends[rung.column - 1] ?? ''
  return (
    <li>
      <UnstyledButton
        className="ladder-row ladder-step"
        data-cause={shows_cause || undefined}
        aria-expanded={opened}
        aria-controls={opened ? id : undefined}
        onClick={() => setOpened(shown => !shown)}
      >
        <Text size="xs" c="dimmed" className="call-clock" ta="right">
          {after}
        </Text>
        <span className="visually-hidden">{way}</span>
        <Arrow rung={rung} columns={ladder.ends.length + 1} sound={sound} />
        <span className="visually-hidden">
          {end} {shows_cause && t('sip.evidence')}
        </span>
      </UnstyledButton>
      {opened && (
        <div id={id} className="ladder-text">
          <CopyBlock value={message.text.replaceAll('\r\n', '\n').trimEnd()} label={label} />
        </div>
      )}
    </li>
  )
}

function Arrow({ rung, columns, sound }: { rung: Rung; columns: number; sound: string }) {
  const { t } = useTranslation('calls')
  const { message, column, label } = rung
  const [ours, theirs] = [middle(0, columns), middle(column, columns)]
  const right = message.sent || message.generated
  return (
    <div className="ladder-arrow">
      <svg width="100%" height="100%" role="presentation" aria-hidden>
        {Array.from({ length: columns }, (_, at) => (
          <line
            // biome-ignore lint/suspicious/noArrayIndexKey: a column is identified by its index
            key={at}
            className="ladder-life"
            x1={`${middle(at, columns)}%`}
            x2={`${middle(at, columns)}%`}
            y1="0"
            y2="100%"
          />
        ))}
        <line
          className="ladder-line"
          strokeDasharray={message.generated ? '4 4' : undefined}
          x1={`${ours}%`}
          x2={`${theirs}%`}
          y1="32"
          y2="32"
        />
        {/* A zero-size box: its position is in percent, while the arrowhead is in pixels. */}
        <svg x={`${right ? theirs : ours}%`} y="32" overflow="visible" role="presentation">
          <path className="ladder-head" d={message.generated ? CROSS : right ? TO_RIGHT : TO_LEFT} />
        </svg>
      </svg>
      <div
        className="ladder-label"
        style={columns > 2 ? { left: `${ours}%`, right: `${100 - theirs}%` } : { left: 0, right: 0 }}
      >
        {message.generated && <span aria-hidden>{t('sip.generated')}: </span>}
        {label}
        {sound && <span className="ladder-sound"> {sound}</span>}
      </div>
    </div>
  )
}

const TO_RIGHT = 'M0 0 l-9 -4.5 v9 z'
const TO_LEFT = 'M0 0 l9 -4.5 v9 z'
const CROSS = 'M-5 -5 l10 10 M5 -5 l-10 10'
