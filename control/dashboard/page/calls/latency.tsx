/** Response latency of the agent, broken down by stage. */
import { Button, Group, Table, Text } from '@mantine/core'
import { IconChevronRight } from '@tabler/icons-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { duration, milliseconds, number } from '../ui/format.ts'
import type { CallDetail } from './queries.ts'
import { Section } from './section.tsx'
import { answersOf, type Turn, type TurnLatency } from './timeline.ts'
import { DEAD_AIR_MS, linesOf, parts } from './waterfall.ts'

const SHOWN_AT_FIRST = 12

export function Latency({ call }: { call: CallDetail }) {
  const { t } = useTranslation('calls')
  const [all, setAll] = useState(false)
  const { turns } = call.latency
  const answers = answersOf(call.transcript, turns)
  const longest = Math.max(...turns.map(({ total_ms }) => total_ms), 1)
  const shown = all ? turns : turns.slice(0, SHOWN_AT_FIRST)
  return (
    <Section title={t('latency.title')} aside={<Head latency={call.latency} />}>
      <Text size="sm" c="dimmed">
        {t('latency.hint')}
      </Text>
      <Legend />
      <div className="latency-rows" aria-hidden>
        {shown.map((latency, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: responses are identified by their number
          <Row key={index} number={index + 1} latency={latency} answer={answers[index] ?? null} longest={longest} />
        ))}
      </div>
      {shown.length < turns.length && (
        <Button variant="default" size="xs" onClick={() => setAll(true)} style={{ alignSelf: 'flex-start' }}>
          {t('latency.all', { count: turns.length })}
        </Button>
      )}
      <Numbers turns={turns} answers={answers} />
    </Section>
  )
}

function Head({ latency }: { latency: CallDetail['latency'] }) {
  const { t } = useTranslation('calls')
  const { p50_ms, p95_ms, turns } = latency
  const dead = turns.filter(({ total_ms }) => total_ms > DEAD_AIR_MS).length
  return (
    <Group component="dl" gap="lg" m={0}>
      <Stat name={t('latency.half')} value={p50_ms === null ? '–' : milliseconds(p50_ms)} />
      <Stat name={t('latency.most')} value={p95_ms === null ? '–' : milliseconds(p95_ms)} />
      <Stat name={t('latency.deadAir')} value={number(dead)} bad={dead > 0} />
    </Group>
  )
}

function Stat({ name, value, bad = false }: { name: string; value: string; bad?: boolean }) {
  return (
    <div>
      <Text component="dt" size="xs" c="dimmed">
        {name}
      </Text>
      <Text component="dd" m={0} fw={600} c={bad ? 'var(--mantine-color-error)' : undefined}>
        {value}
      </Text>
    </div>
  )
}

function Legend() {
  const { t } = useTranslation('calls')
  return (
    <Group gap="md" aria-hidden>
      {parts.map(part => (
        <Group key={part} gap={6} wrap="nowrap">
          <span className="latency-mark" data-part={part} />
          <Text size="xs">{t(`latency.parts.${part}`)}</Text>
        </Group>
      ))}
    </Group>
  )
}

interface RowProps {
  number: number
  latency: TurnLatency
  answer: Turn | null
  longest: number
}

const LANE = 5

/** One response: a bar for each stage, all rows on the same scale. */
function Row({ number: count, latency, answer, longest }: RowProps) {
  const { t } = useTranslation('calls')
  const x = (ms: number) => `${(100 * ms) / longest}%`
  return (
    <div className="latency-row">
      <Text size="xs" truncate title={answer?.heard_text}>
        {answer === null ? t('latency.answer', { number: count }) : duration(answer.started_ms / 1000)}
        {answer !== null && <span className="latency-words"> {answer.heard_text}</span>}
        {latency.filler && ` · ${t('latency.filler')}`}
      </Text>
      <svg width="100%" height={LANE * parts.length} role="presentation">
        <rect className="latency-ground" width={x(latency.total_ms)} height="100%" />
        {linesOf(latency).map(({ part, from_ms, to_ms }) => (
          <rect
            key={part}
            className="latency-mark"
            data-part={part}
            x={x(from_ms)}
            width={x(to_ms - from_ms)}
            y={LANE * parts.indexOf(part)}
            height={LANE}
          />
        ))}
      </svg>
      <Text
        size="xs"
        ta="right"
        className="call-clock"
        c={latency.total_ms > DEAD_AIR_MS ? 'var(--mantine-color-error)' : undefined}
      >
        {milliseconds(latency.total_ms)}
      </Text>
    </div>
  )
}

/** The latency values as a table. */
function Numbers({ turns, answers }: { turns: TurnLatency[]; answers: (Turn | null)[] }) {
  const { t } = useTranslation('calls')
  return (
    <details>
      <summary className="call-more">
        <IconChevronRight size={14} className="call-chevron" aria-hidden />
        {t('latency.numbers')}
      </summary>
      <Table.ScrollContainer minWidth={560} type="native" tabIndex={0} role="region" aria-label={t('latency.table')}>
        <Table verticalSpacing={4}>
          <caption className="visually-hidden">{t('latency.table')}</caption>
          <Table.Thead>
            <Table.Tr>
              <Table.Th scope="col">{t('latency.columns.answer')}</Table.Th>
              {parts.map(part => (
                <Table.Th key={part} scope="col" ta="right">
                  {t(`latency.parts.${part}`)}
                </Table.Th>
              ))}
              <Table.Th scope="col" ta="right">
                {t('latency.columns.total')}
              </Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {turns.map((latency, index) => {
              const answer = answers[index]
              return (
                // biome-ignore lint/suspicious/noArrayIndexKey: as above
                <Table.Tr key={index}>
                  <Table.Th scope="row" fw={400}>
                    {index + 1}
                    {answer && ` (${duration(answer.started_ms / 1000)})`}
                    {latency.filler && `, ${t('latency.filler')}`}
                  </Table.Th>
                  {parts.map(part => (
                    <Table.Td key={part} ta="right">
                      {number(latency[part])}
                    </Table.Td>
                  ))}
                  <Table.Td ta="right">{number(latency.total_ms)}</Table.Td>
                </Table.Tr>
              )
            })}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </details>
  )
}
