/** Lists contacts: everyone who was called or has called. */
import { Anchor, Badge, Group, Pill, Select, Stack, Text, TextInput } from '@mantine/core'
import { useDebouncedCallback } from '@mantine/hooks'
import { IconSearch } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { Link } from 'react-router'
import { projectsQuery } from '../api/queries.ts'
import { dateTime } from '../ui/format.ts'
import { Page } from '../ui/page.tsx'
import { type Filters, oneOf, useFilters } from '../ui/search-state.ts'
import { Answered, Empty } from '../ui/states.tsx'
import { type Column, ListTable } from '../ui/table.tsx'
import { type Contact, channels, contactsQuery, leadStatuses } from './queries.ts'

export default function Contacts() {
  const { t } = useTranslation('contacts')
  const filters = useFilters()
  const { offset, set } = filters
  const given = givenOf(filters)
  const contacts = useQuery(contactsQuery({ ...given, offset }))
  const filtered = Object.values(given).some(value => value !== undefined)
  return (
    <Page title={t('title')}>
      <FilterBar filters={filters} />
      <Answered of={contacts}>
        {list => (
          <ListTable
            label={t('title')}
            columns={columnsOf(t)}
            list={list}
            rowKey={({ id }) => id}
            onOffset={offset => set({ offset: String(offset) })}
            minWidth={720}
            empty={
              filtered ? (
                t('noneFound')
              ) : (
                <Empty title={t('empty')}>
                  <Text c="dimmed" maw={480}>
                    {t('emptyHint')}
                  </Text>
                </Empty>
              )
            }
          />
        )}
      </Answered>
    </Page>
  )
}

const givenOf = ({ params }: Filters) => ({
  q: params.get('q')?.slice(0, 200) ?? undefined,
  project_id: params.get('project_id') ?? undefined,
  channel: oneOf(params.get('channel'), channels),
  lead: oneOf(params.get('lead'), leadStatuses),
})

const TYPING_MS = 300

function FilterBar({ filters }: { filters: Filters }) {
  const { set } = filters
  const { q = '', project_id, channel, lead } = givenOf(filters)
  const { t } = useTranslation('contacts')
  const { t: common } = useTranslation()
  const { data: projects = [] } = useQuery(projectsQuery)
  const [typed, setTyped] = useState(q)
  const search = useDebouncedCallback((text: string) => set({ q: text.trim() }), TYPING_MS)
  // The browser's back button changes the search too.
  useEffect(() => setTyped(before => (before.trim() === q ? before : q)), [q])
  return (
    <Group role="search">
      <TextInput
        type="search"
        flex={1}
        miw={200}
        maxLength={200}
        aria-label={common('search')}
        placeholder={t('searchHint')}
        leftSection={<IconSearch size={16} aria-hidden />}
        value={typed}
        onChange={event => {
          setTyped(event.currentTarget.value)
          search(event.currentTarget.value)
        }}
      />
      <Select
        aria-label={t('project')}
        placeholder={t('anyProject')}
        clearable
        searchable
        data={projects.map(({ id, name }) => ({ value: id, label: name }))}
        value={project_id ?? null}
        onChange={project_id => set({ project_id })}
      />
      <Select
        aria-label={t('channel')}
        placeholder={t('anyChannel')}
        clearable
        data={channels.map(value => ({ value, label: t(`channels.${value}`) }))}
        value={channel ?? null}
        onChange={channel => set({ channel })}
      />
      <Select
        aria-label={t('leadStatus')}
        placeholder={t('anyLead')}
        clearable
        data={leadStatuses.map(value => ({ value, label: t(`leadStatuses.${value}`) }))}
        value={lead ?? null}
        onChange={lead => set({ lead })}
      />
    </Group>
  )
}

type Words = ReturnType<typeof useTranslation<'contacts'>>['t']

const columnsOf = (t: Words): Column<Contact>[] => [
  {
    key: 'contact',
    header: t('contact'),
    cell: ({ id, phone, name, do_not_call }) => (
      <Stack gap={0} maw={300}>
        <Anchor component={Link} to={`/contacts/${id}`} fw={600}>
          {name ?? phone}
        </Anchor>
        {name !== null && (
          <Text size="sm" c="dimmed">
            {phone}
          </Text>
        )}
        {do_not_call && <DoNotCallBadge />}
      </Stack>
    ),
  },
  {
    key: 'lead',
    header: t('leadStatus'),
    cell: ({ lead_status }) => lead_status !== null && t(`leadStatuses.${lead_status}`),
  },
  {
    key: 'tags',
    header: t('tags'),
    cell: ({ tags }) => (
      <Pill.Group maw={260}>
        {tags.map(tag => (
          <Pill key={tag}>{tag}</Pill>
        ))}
      </Pill.Group>
    ),
  },
  { key: 'channel', header: t('channel'), cell: ({ channel }) => t(`channels.${channel}`) },
  { key: 'call', header: t('lastCall'), cell: ({ last_call_at: at }) => (at === null ? '' : dateTime(at)) },
]

export function DoNotCallBadge() {
  const { t } = useTranslation('contacts')
  return (
    <Badge color="red" variant="outline" size="sm">
      {t('doNotCall')}
    </Badge>
  )
}
