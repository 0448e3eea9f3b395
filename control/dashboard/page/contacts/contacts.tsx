/** Lists contacts: everyone who was called or has called. */
import { Anchor, Badge, Group, Pill, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { Link } from 'react-router'
import { projectsQuery } from '../api/queries.ts'
import { FilterSelect } from '../ui/filter-select.tsx'
import { dateTime } from '../ui/format.ts'
import { namedOptions } from '../ui/options.ts'
import { Page } from '../ui/page.tsx'
import { SearchInput } from '../ui/search.tsx'
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
            empty={filtered ? t('noneFound') : <Empty title={t('empty')} hint={t('emptyHint')} />}
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

function FilterBar({ filters }: { filters: Filters }) {
  const { set } = filters
  const { q = '', project_id, channel, lead } = givenOf(filters)
  const { t } = useTranslation('contacts')
  const { data: projects = [] } = useQuery(projectsQuery)
  return (
    <Group role="search">
      <SearchInput
        flex={1}
        miw={200}
        maxLength={200}
        placeholder={t('searchHint')}
        value={q}
        onSearch={q => set({ q })}
      />
      <FilterSelect
        label={t('project')}
        any={t('anyProject')}
        searchable
        options={namedOptions(projects)}
        value={project_id}
        onSelect={project_id => set({ project_id })}
      />
      <FilterSelect
        label={t('channel')}
        any={t('anyChannel')}
        options={channels.map(value => ({ value, label: t(`channels.${value}`) }))}
        value={channel}
        onSelect={channel => set({ channel })}
      />
      <FilterSelect
        label={t('leadStatus')}
        any={t('anyLead')}
        options={leadStatuses.map(value => ({ value, label: t(`leadStatuses.${value}`) }))}
        value={lead}
        onSelect={lead => set({ lead })}
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
