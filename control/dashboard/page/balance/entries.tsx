import { Anchor, Stack, Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { Link } from 'react-router'
import { exactTime, money } from '../ui/format.ts'
import { useFilters } from '../ui/search-state.ts'
import { Answered } from '../ui/states.tsx'
import { type Column, ListTable } from '../ui/table.tsx'
import { type Entry, entriesQuery } from './queries.ts'

export function Entries() {
  const { t } = useTranslation('balance')
  const { offset, set } = useFilters()
  const entries = useQuery(entriesQuery(offset))
  const columns = useColumns()
  return (
    <Stack gap="xs">
      <Title order={2} size="h4">
        {t('entries.title')}
      </Title>
      <Text size="sm" c="dimmed">
        {t('entries.lead')}
      </Text>
      <Answered of={entries}>
        {list => (
          <ListTable
            label={t('entries.title')}
            columns={columns}
            list={list}
            rowKey={({ id }) => id}
            empty={t('entries.none')}
            onOffset={next => set({ offset: String(next) })}
            minWidth={640}
          />
        )}
      </Answered>
    </Stack>
  )
}

function useColumns(): Column<Entry>[] {
  const { t } = useTranslation('balance')
  return [
    { key: 'time', header: t('entries.time'), cell: ({ created_at }) => exactTime(created_at) },
    { key: 'what', header: t('entries.what'), cell: entry => <What entry={entry} /> },
    { key: 'of', header: t('entries.of'), cell: entry => <Of entry={entry} /> },
    { key: 'amount', header: t('entries.amount'), align: 'right', cell: ({ amount }) => <Signed amount={amount} /> },
    { key: 'after', header: t('entries.after'), align: 'right', cell: ({ balance_after }) => money(balance_after) },
  ]
}

/** The server's description of a top-up without a reference; it adds nothing to the type, so it is hidden. */
const PLAIN = 'Top-up'

function What({ entry: { kind, description } }: { entry: Entry }) {
  const { t } = useTranslation('balance')
  return (
    <>
      {t(`entries.kinds.${kind}`)}
      {kind === 'fund' && description !== PLAIN && (
        <Text size="sm" c="dimmed">
          {description}
        </Text>
      )}
    </>
  )
}

function Of({ entry: { call_id, job_id } }: { entry: Entry }) {
  const { t } = useTranslation('balance')
  if (call_id === null && job_id === null) return '—'
  return (
    <Anchor component={Link} inherit to={job_id === null ? `/calls/${call_id}` : `/leads/${job_id}`}>
      {job_id === null ? t('entries.call') : t('entries.search')}
    </Anchor>
  )
}

function Signed({ amount }: { amount: Entry['amount'] }) {
  const came = !amount.amount.startsWith('-')
  return (
    <Text span inherit fw={came ? 650 : undefined}>
      {came && '+'}
      {money(amount)}
    </Text>
  )
}
