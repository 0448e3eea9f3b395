import { Anchor, Badge, Button, Group, Stack, TextInput } from '@mantine/core'
import { IconPlus, IconSearch } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { Link, useSearchParams } from 'react-router'
import { numbersQuery, projectsQuery } from '../api/queries.ts'
import type { Schemas } from '../api/types.ts'
import { Page } from '../ui/page.tsx'
import { Answered, Empty } from '../ui/states.tsx'
import { DataTable } from '../ui/table.tsx'
import { NewProject } from './create.tsx'
import { languageName } from './languages.ts'

/** Number of projects above which the list shows a search field. */
const MANY = 8

export default function Projects() {
  const { t } = useTranslation('projects')
  const [creating, setCreating] = useState(false)
  const projects = useQuery(projectsQuery)
  return (
    <Page
      title={t('title')}
      actions={
        <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={() => setCreating(true)}>
          {t('new.action')}
        </Button>
      }
    >
      <Answered of={projects}>{list => <List projects={list} />}</Answered>
      <NewProject opened={creating} onClose={() => setCreating(false)} />
    </Page>
  )
}

function List({ projects }: { projects: Schemas['ProjectSummary'][] }) {
  const { t } = useTranslation('projects')
  const { t: common } = useTranslation()
  const [params, setParams] = useSearchParams()
  const sought = params.get('q') ?? ''
  const found = projects.filter(({ name }) => name.toLowerCase().includes(sought.trim().toLowerCase()))
  return (
    <Stack>
      {(projects.length > MANY || sought !== '') && (
        <TextInput
          type="search"
          maw={320}
          aria-label={common('search')}
          placeholder={common('search')}
          leftSection={<IconSearch size={16} aria-hidden />}
          value={sought}
          onChange={event => setParams(event.target.value === '' ? {} : { q: event.target.value }, { replace: true })}
        />
      )}
      <DataTable
        label={t('title')}
        minWidth={320}
        items={found}
        rowKey={({ id }) => id}
        empty={<Empty title={sought === '' ? t('empty') : t('noneFound')} />}
        columns={[
          {
            key: 'name',
            header: common('name'),
            cell: ({ id, name }) => (
              <Anchor component={Link} to={`/projects/${id}`} fw={600}>
                {name}
              </Anchor>
            ),
          },
          { key: 'language', header: t('fields.language'), cell: ({ language }) => languageName(language) },
          { key: 'numbers', header: t('tabs.numbers'), cell: ({ id }) => <Bound projectId={id} /> },
        ]}
      />
    </Stack>
  )
}

function Bound({ projectId }: { projectId: string }) {
  const { data } = useQuery(numbersQuery)
  const bound = data?.items.filter(({ bindings }) => bindings.some(one => one.project_id === projectId)) ?? []
  return (
    <Group gap={4}>
      {bound.map(({ number }) => (
        <Badge key={number} variant="default" fw={500}>
          {number}
        </Badge>
      ))}
    </Group>
  )
}
