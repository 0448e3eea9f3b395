/** The log-in sessions of the person, each with a button that ends it. */
import { Badge, Button, Group, Stack, Text } from '@mantine/core'
import { keepPreviousData, queryOptions, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { api } from '../api/client.ts'
import { must } from '../api/queries.ts'
import type { Schemas } from '../api/types.ts'
import { Confirm, ConfirmButton } from '../ui/confirm.tsx'
import { dateTime } from '../ui/format.ts'
import { notify } from '../ui/notify.ts'
import { Section } from '../ui/section.tsx'
import { Answered } from '../ui/states.tsx'
import { type Column, ListTable } from '../ui/table.tsx'

type Session = Schemas['LoginSession']
const PAGE = 10

const sessionsQuery = (offset: number) =>
  queryOptions({
    queryKey: ['sessions', offset],
    queryFn: ({ signal }) =>
      must(api.GET('/v1/public/sessions', { params: { query: { limit: PAGE, offset } }, signal })),
    placeholderData: keepPreviousData,
  })

export function Sessions() {
  const { t } = useTranslation('account')
  const { t: common } = useTranslation()
  const [offset, setOffset] = useState(0)
  const sessions = useQuery(sessionsQuery(offset))
  const columns: Column<Session>[] = [
    { key: 'device', header: t('sessions.device'), cell: session => <Device of={session} /> },
    { key: 'address', header: t('sessions.address'), cell: ({ address }) => address ?? t('sessions.unknown') },
    { key: 'used', header: t('sessions.used'), cell: ({ last_used_at }) => dateTime(last_used_at) },
    { key: 'since', header: t('sessions.since'), cell: ({ created_at }) => dateTime(created_at) },
    { key: 'actions', header: common('actions'), align: 'right', cell: session => <End of={session} /> },
  ]
  const everywhere = async () => {
    await must(api.POST('/auth/log-out-everywhere'))
    window.location.assign('/dashboard/log-in')
  }
  return (
    <Section title={t('account.sessions')} hint={t('sessions.lead')}>
      <Answered of={sessions}>
        {list => (
          <ListTable
            label={t('account.sessions')}
            columns={columns}
            list={list}
            rowKey={({ id }) => id}
            empty=""
            onOffset={setOffset}
            minWidth={640}
          />
        )}
      </Answered>
      <Stack align="flex-start">
        <Confirm
          trigger={open => (
            <Button variant="default" onClick={open}>
              {t('account.everywhere')}
            </Button>
          )}
          title={t('account.everywhere')}
          action={t('account.everywhere')}
          onConfirm={everywhere}
        >
          <Text>{t('account.everywhereHint')}</Text>
        </Confirm>
      </Stack>
    </Section>
  )
}

function Device({ of: { device, current } }: { of: Session }) {
  const { t } = useTranslation('account')
  return (
    <Group gap="xs">
      {device ?? t('sessions.unknown')}
      {current && <Badge tt="none">{t('sessions.current')}</Badge>}
    </Group>
  )
}

/** The current session ends by logging out. */
function End({ of: { id, device, current } }: { of: Session }) {
  const { t } = useTranslation('account')
  const client = useQueryClient()
  if (current) return null
  const end = async () => {
    await must(api.DELETE('/v1/public/sessions/{session_id}', { params: { path: { session_id: id } } }))
    await client.invalidateQueries({ queryKey: ['sessions'] })
    notify(t('sessions.ended'))
  }
  return (
    <ConfirmButton
      size="compact-sm"
      label={t('sessions.endOne', { device: device ?? t('sessions.unknown') })}
      title={t('sessions.end')}
      action={t('sessions.end')}
      onConfirm={end}
    >
      <Text>{t('sessions.endHint')}</Text>
    </ConfirmButton>
  )
}
