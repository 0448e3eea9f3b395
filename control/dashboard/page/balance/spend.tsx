import { Accordion, Group, NativeSelect, Paper, Stack, Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense, useMemo } from 'react'
import { useTranslation } from 'react-i18next'
import { money } from '../ui/format.ts'
import { oneOf, useFilters } from '../ui/search-state.ts'
import { Answered, Empty, Waiting } from '../ui/states.tsx'
import { type Column, DataTable } from '../ui/table.tsx'
import { spoken } from '../words/words.ts'
import { type Spend, spendQuery } from './queries.ts'

const BarChart = lazy(() => import('../ui/chart.tsx'))

const periods = ['7', '30', '90', '365'] as const
const kinds = ['calls', 'web', 'leads'] as const satisfies readonly (keyof Spend['items'][number]['by_kind'])[]

export function SpendSection() {
  const { t } = useTranslation('balance')
  const { params, set } = useFilters()
  const days = oneOf(params.get('days'), periods) ?? '30'
  const spend = useQuery(spendQuery(Number(days)))
  return (
    <Paper withBorder p="md">
      <Stack>
        <Group justify="space-between" align="flex-end">
          <Title order={2} size="h4">
            {t('spend.title')}
          </Title>
          <NativeSelect
            aria-label={t('spend.period')}
            data={periods.map(value => ({ value, label: t(`spend.periods.${value}`) }))}
            value={days}
            onChange={({ currentTarget }) => set({ days: currentTarget.value })}
          />
        </Group>
        <Answered of={spend}>{found => <Spent spend={found} />}</Answered>
      </Stack>
    </Paper>
  )
}

/** Formats a calendar date, independent of the browser's time zone. */
const dayIn = (date: string, options: Intl.DateTimeFormatOptions) =>
  new Intl.DateTimeFormat(spoken(), { timeZone: 'UTC', ...options }).format(new Date(date))

const isNothing = (amount: string) => /^0*\.?0*$/.test(amount)

function Spent({ spend }: { spend: Spend }) {
  const { t } = useTranslation('balance')
  const used = spend.items.filter(({ spent }) => !isNothing(spent.amount))
  if (used.length === 0) return <Empty title={t('spend.none')} />
  return (
    <Stack>
      <Text>
        {t('spend.total', { amount: money(spend.total) })}{' '}
        <Text span size="sm" c="dimmed">
          {t('spend.zone', { zone: spend.timezone })}
        </Text>
      </Text>
      <Suspense fallback={<Waiting />}>
        <Chart spend={spend} />
      </Suspense>
      <Accordion variant="contained" order={3}>
        <Accordion.Item value="table">
          <Accordion.Control>{t('spend.table')}</Accordion.Control>
          <Accordion.Panel>
            <SpendTable days={used} />
          </Accordion.Panel>
        </Accordion.Item>
      </Accordion>
    </Stack>
  )
}

function Chart({ spend }: { spend: Spend }) {
  const { t } = useTranslation('balance')
  const { currency } = spend.total
  const days = useMemo(
    () => spend.items.map(({ date }) => ({ date, short: dayIn(date, { day: 'numeric', month: 'short' }) })),
    [spend],
  )
  const series = useMemo(
    () =>
      kinds.map(kind => ({
        name: t(`spend.kinds.${kind}`),
        values: spend.items.map(({ by_kind }) => Number(by_kind[kind].amount)),
      })),
    [spend, t],
  )
  const format = useMemo(() => {
    const options = { style: 'currency', currency, notation: 'compact', maximumFractionDigits: 2 } as const
    return new Intl.NumberFormat(spoken(), options).format
  }, [currency])
  return <BarChart label={t('spend.chart')} days={days} series={series} format={format} />
}

function SpendTable({ days }: { days: Spend['items'] }) {
  const { t } = useTranslation('balance')
  const columns: Column<Spend['items'][number]>[] = [
    { key: 'date', header: t('spend.day'), cell: ({ date }) => dayIn(date, { dateStyle: 'medium' }) },
    ...kinds.map(kind => ({
      key: kind,
      header: t(`spend.kinds.${kind}`),
      align: 'right' as const,
      cell: (day: Spend['items'][number]) => money(day.by_kind[kind]),
    })),
    { key: 'spent', header: t('spend.all'), align: 'right', cell: ({ spent }) => money(spent) },
  ]
  return (
    <DataTable
      label={t('spend.chart')}
      columns={columns}
      items={days.toReversed()}
      rowKey={({ date }) => date}
      empty={t('spend.none')}
      minWidth={480}
    />
  )
}
