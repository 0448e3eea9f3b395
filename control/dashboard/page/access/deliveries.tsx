import { Button, Code, Group, NativeSelect, Stack } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { exactTime } from '../ui/format.ts'
import { oneOf, useFilters } from '../ui/search-state.ts'
import { Answered, Empty } from '../ui/states.tsx'
import { type Column, ListTable } from '../ui/table.tsx'
import { DeliveryDialog } from './delivery.tsx'
import { DeliveryStatus, useAnswer } from './outcome.tsx'
import { type Delivery, deliveriesQuery, deliveryEvents, deliveryStatuses, type Webhook } from './queries.ts'

export function Deliveries({ webhook }: { webhook: Webhook }) {
  const { t } = useTranslation('access')
  const { t: common } = useTranslation()
  const { params, offset, set } = useFilters()
  const event = oneOf(params.get('event'), deliveryEvents)
  const status = oneOf(params.get('status'), deliveryStatuses)
  const deliveries = useQuery(deliveriesQuery(webhook.id, { event, status, offset }))
  const columns = useColumns(id => set({ delivery: id, offset: String(offset) }))
  const opened = params.get('delivery')
  return (
    <Stack>
      <Group>
        <NativeSelect
          label={t('deliveries.event')}
          data={[{ value: '', label: common('all') }, ...deliveryEvents]}
          value={event ?? ''}
          onChange={({ currentTarget }) => set({ event: currentTarget.value })}
        />
        <NativeSelect
          label={common('status')}
          data={[
            { value: '', label: common('all') },
            ...deliveryStatuses.map(value => ({ value, label: t(`deliveries.statuses.${value}`) })),
          ]}
          value={status ?? ''}
          onChange={({ currentTarget }) => set({ status: currentTarget.value })}
        />
      </Group>
      <Answered of={deliveries}>
        {list => (
          <ListTable
            label={t('deliveries.title')}
            columns={columns}
            list={list}
            rowKey={({ id }) => id}
            empty={<Empty title={t('deliveries.none')} />}
            onOffset={next => set({ offset: String(next) })}
            minWidth={720}
          />
        )}
      </Answered>
      {opened !== null && (
        <DeliveryDialog
          webhook={webhook}
          deliveryId={opened}
          onClose={() => set({ delivery: null, offset: String(offset) })}
          onReplayed={id => set({ delivery: id })}
        />
      )}
    </Stack>
  )
}

function useColumns(open: (id: string) => void): Column<Delivery>[] {
  const { t } = useTranslation('access')
  const { t: common } = useTranslation()
  return [
    { key: 'event', header: t('deliveries.event'), cell: ({ event }) => <Code>{event}</Code> },
    { key: 'status', header: common('status'), cell: delivery => <DeliveryStatus of={delivery} /> },
    { key: 'created', header: t('deliveries.created'), cell: delivery => exactTime(delivery.created_at) },
    { key: 'attempts', header: t('deliveries.attempts'), align: 'right', cell: ({ attempts }) => attempts.length },
    { key: 'answer', header: t('deliveries.answer'), cell: delivery => <LastAnswer of={delivery} /> },
    {
      key: 'next',
      header: t('deliveries.next'),
      cell: ({ next_attempt_at: next }) => (next === null ? '—' : exactTime(next)),
    },
    {
      key: 'actions',
      header: common('actions'),
      align: 'right',
      cell: ({ id, event, created_at }) => (
        <Button
          variant="subtle"
          size="compact-sm"
          onClick={() => open(id)}
          aria-label={t('deliveries.openOne', { event, time: exactTime(created_at) })}
        >
          {t('deliveries.open')}
        </Button>
      ),
    },
  ]
}

function LastAnswer({ of: { attempts } }: { of: Delivery }) {
  const say = useAnswer()
  const last = attempts.at(-1)
  return last === undefined ? '—' : say(last)
}
