/** The do-not-call list: numbers added by the account or at the caller's request. */
import { Button, Group, Stack, Text, TextInput } from '@mantine/core'
import { useDebouncedCallback, useDisclosure } from '@mantine/hooks'
import { IconSearch } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { api } from '../api/client.ts'
import { must, queryClient } from '../api/queries.ts'
import { Confirm } from '../ui/confirm.tsx'
import { dateTime } from '../ui/format.ts'
import { notify } from '../ui/notify.ts'
import { Page } from '../ui/page.tsx'
import { useFilters } from '../ui/search-state.ts'
import { Answered, Empty } from '../ui/states.tsx'
import { ListTable } from '../ui/table.tsx'
import { AddDialog } from './add-dialog.tsx'
import { type Entry, entriesQuery } from './queries.ts'

export default function DoNotCall() {
  const { t } = useTranslation('do-not-call')
  const [adding, { open, close }] = useDisclosure()
  const { params, offset, set } = useFilters()
  const q = digitsOf(params.get('q') ?? '')
  const entries = useQuery(entriesQuery({ ...(q === '' ? {} : { q }), offset }))
  return (
    <Page title={t('title')} actions={<Button onClick={open}>{t('add')}</Button>}>
      <Text size="sm" c="dimmed">
        {t('lead')}
      </Text>
      <Search value={q} onChange={q => set({ q })} />
      <Answered of={entries}>
        {list => (
          <ListTable
            label={t('title')}
            list={list}
            rowKey={({ phone }) => phone}
            onOffset={offset => set({ offset: String(offset) })}
            minWidth={640}
            empty={q ? t('noneFound') : <Empty title={t('empty')} />}
            columns={[
              { key: 'phone', header: t('phone'), cell: ({ phone }) => <Text fw={600}>{phone}</Text> },
              { key: 'source', header: t('source'), cell: ({ source }) => t(`sources.${source}`) },
              { key: 'note', header: t('note'), cell: ({ note }) => <Text size="sm">{note}</Text> },
              { key: 'created', header: t('since'), cell: ({ created_at }) => dateTime(created_at) },
              { key: 'remove', header: t('removing'), cell: entry => <Remove entry={entry} /> },
            ]}
          />
        )}
      </Answered>
      <AddDialog opened={adding} onClose={close} />
    </Page>
  )
}

const TYPING_MS = 300

/** The API searches by leading digits; users paste numbers in any format. */
function Search({ value, onChange }: { value: string; onChange: (q: string) => void }) {
  const { t } = useTranslation('do-not-call')
  const { t: common } = useTranslation()
  const [typed, setTyped] = useState(value)
  const search = useDebouncedCallback((text: string) => onChange(digitsOf(text)), TYPING_MS)
  useEffect(() => setTyped(before => (digitsOf(before) === value ? before : value)), [value])
  return (
    <Group role="search">
      <TextInput
        type="search"
        inputMode="tel"
        w={{ base: '100%', sm: 320 }}
        aria-label={common('search')}
        placeholder={t('searchHint')}
        leftSection={<IconSearch size={16} aria-hidden />}
        value={typed}
        onChange={event => {
          setTyped(event.currentTarget.value)
          search(event.currentTarget.value)
        }}
      />
    </Group>
  )
}

const digitsOf = (text: string) => {
  const digits = text.replace(/\D/g, '').slice(0, 15)
  return text.trim().startsWith('+') && digits !== '' ? `+${digits}` : digits
}

function Remove({ entry: { phone, source } }: { entry: Entry }) {
  const { t } = useTranslation('do-not-call')
  const remove = async () => {
    await must(api.DELETE('/v1/public/do-not-call/{phone}', { params: { path: { phone } } }))
    await queryClient.invalidateQueries({ queryKey: ['do-not-call'] })
    notify(t('removed', { phone }))
  }
  return (
    <Confirm
      trigger={open => (
        <Button variant="subtle" color="red" size="compact-sm" onClick={open} aria-label={t('removeOf', { phone })}>
          {t('remove')}
        </Button>
      )}
      title={t('removeTitle', { phone })}
      action={t('remove')}
      onConfirm={remove}
    >
      <Stack gap="xs">
        <Text>{t('removeText')}</Text>
        {source === 'caller' && <Text fw={600}>{t('removeCaller')}</Text>}
      </Stack>
    </Confirm>
  )
}
