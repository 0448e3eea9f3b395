/**
 * Lists the knowledge sources of a project. Changes take effect at once; the list is polled while a source is being
 * indexed.
 */
import { ActionIcon, Badge, Group, Loader, Stack, Text } from '@mantine/core'
import { IconFile, IconTextCaption, IconTrash, IconWorld } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { api } from '../api/client.ts'
import { knowledgeQuery } from '../api/projects.ts'
import { must, queryClient } from '../api/queries.ts'
import type { Schemas } from '../api/types.ts'
import { Confirm } from '../ui/confirm.tsx'
import { number } from '../ui/format.ts'
import { Section } from '../ui/section.tsx'
import { Answered } from '../ui/states.tsx'
import { DataTable } from '../ui/table.tsx'
import { AddSource } from './add-source.tsx'
import { useEditing } from './form.ts'
import { Passages } from './passages.tsx'

type Source = Schemas['KnowledgeSource']

export default function KnowledgeTab() {
  const { t } = useTranslation('projects')
  const { id } = useEditing().saved
  const sources = useQuery(knowledgeQuery(id))
  return (
    <Stack>
      <Section title={t('knowledge.add.title')} hint={t('knowledge.add.hint')}>
        <AddSource projectId={id} />
      </Section>
      <Section title={t('knowledge.sources')}>
        <Answered of={sources}>{({ items }) => <Sources projectId={id} sources={items} />}</Answered>
      </Section>
      <Section title={t('knowledge.search.title')} hint={t('knowledge.search.hint')}>
        <Passages projectId={id} />
      </Section>
    </Stack>
  )
}

const icons = { text: IconTextCaption, url: IconWorld, file: IconFile }

function Sources({ projectId, sources }: { projectId: string; sources: Source[] }) {
  const { t } = useTranslation('projects')
  const { t: common } = useTranslation()
  return (
    <div aria-live="polite" aria-relevant="additions text">
      <DataTable
        label={t('knowledge.sources')}
        minWidth={560}
        items={sources}
        rowKey={({ id }) => id}
        empty={t('knowledge.empty')}
        columns={[
          { key: 'name', header: common('name'), cell: source => <Named source={source} /> },
          { key: 'status', header: common('status'), cell: source => <Status source={source} /> },
          { key: 'chunks', header: t('knowledge.chunks'), align: 'right', cell: ({ chunks }) => number(chunks) },
          { key: 'pages', header: t('knowledge.pages'), align: 'right', cell: ({ pages }) => number(pages) },
          {
            key: 'actions',
            header: common('actions'),
            align: 'right',
            cell: source => <RemoveSource projectId={projectId} source={source} />,
          },
        ]}
      />
    </div>
  )
}

function Named({ source: { kind, name } }: { source: Source }) {
  const { t } = useTranslation('projects')
  const Icon = icons[kind]
  return (
    <Group gap="xs" wrap="nowrap">
      <Icon size={16} role="img" aria-label={t(`knowledge.kinds.${kind}`)} style={{ flexShrink: 0 }} />
      <Text size="sm">{name}</Text>
    </Group>
  )
}

function Status({ source: { status, error, skipped } }: { source: Source }) {
  const { t } = useTranslation('projects')
  const busy = status === 'pending' || status === 'indexing'
  return (
    <Stack gap={4} align="flex-start">
      <Badge
        variant={status === 'ready' ? 'filled' : 'default'}
        color={status === 'error' ? 'red' : undefined}
        leftSection={busy ? <Loader size={10} aria-hidden /> : undefined}
        tt="none"
      >
        {t(`knowledge.status.${status}`)}
      </Badge>
      {error && (
        <Text size="xs" c="var(--mantine-color-error)">
          {t(`knowledge.reasons.${error.code}`)}
        </Text>
      )}
      {skipped.length > 0 && (
        <Text size="xs" c="dimmed">
          {t('knowledge.skipped')}{' '}
          {skipped.map(({ reason, count }) => `${t(`knowledge.reasons.${reason}`)}: ${number(count)}`).join('; ')}
        </Text>
      )}
    </Stack>
  )
}

function RemoveSource({ projectId, source: { id, name } }: { projectId: string; source: Source }) {
  const { t } = useTranslation('projects')
  const { t: common } = useTranslation()
  const remove = async () => {
    const path = { project_id: projectId, source_id: id }
    await must(api.DELETE('/v1/public/projects/{project_id}/knowledge/{source_id}', { params: { path } }))
    await queryClient.invalidateQueries({ queryKey: knowledgeQuery(projectId).queryKey })
  }
  return (
    <Confirm
      trigger={open => (
        <ActionIcon variant="subtle" color="red" onClick={open} aria-label={t('list.remove', { name })}>
          <IconTrash size={16} />
        </ActionIcon>
      )}
      title={t('list.remove', { name })}
      action={common('delete')}
      onConfirm={remove}
    >
      <Text>{t('knowledge.removeText')}</Text>
    </Confirm>
  )
}
