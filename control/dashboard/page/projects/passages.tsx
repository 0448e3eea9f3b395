/** Shows the knowledge passages that the agent would find for a question. */
import { Anchor, Button, Group, Paper, Stack, Text, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { api } from '../api/client.ts'
import { must } from '../api/queries.ts'
import type { Schemas } from '../api/types.ts'
import { number } from '../ui/format.ts'
import { ProblemAlert } from '../ui/states.tsx'

const LONGEST = 400

export function Passages({ projectId }: { projectId: string }) {
  const { t } = useTranslation('projects')
  const { t: common } = useTranslation()
  const [query, setQuery] = useState('')
  const search = useMutation({
    mutationFn: (body: { query: string; limit: number }) => {
      const params = { path: { project_id: projectId } }
      return must(api.POST('/v1/public/projects/{project_id}/knowledge/search', { params, body }))
    },
  })
  const ask = (event: { preventDefault(): void }) => {
    event.preventDefault()
    if (query.trim() !== '') search.mutate({ query, limit: 5 })
  }
  return (
    <Stack gap="sm">
      <form onSubmit={ask}>
        <Group gap="xs" align="flex-end">
          <TextInput
            flex={1}
            miw={180}
            maxLength={LONGEST}
            label={t('knowledge.search.question')}
            placeholder={t('knowledge.search.example')}
            value={query}
            onChange={event => setQuery(event.target.value)}
          />
          <Button type="submit" variant="default" loading={search.isPending} disabled={query.trim() === ''}>
            {common('search')}
          </Button>
        </Group>
      </form>
      <ProblemAlert error={search.error} />
      <Stack gap="sm" aria-live="polite">
        {search.data?.items.length === 0 && <Text size="sm">{t('knowledge.search.nothing')}</Text>}
        {search.data?.items.map(passage => (
          <Passage key={passage.chunk_id} passage={passage} />
        ))}
      </Stack>
    </Stack>
  )
}

function Passage({ passage }: { passage: Schemas['KnowledgePassage'] }) {
  const { t } = useTranslation('projects')
  const { source, heading, text, url, score } = passage
  return (
    <Paper component="article" withBorder p="sm">
      <Group justify="space-between" gap="xs">
        <Text size="sm" fw={600}>
          {heading === '' ? source : `${source} › ${heading}`}
        </Text>
        <Text size="xs" c="dimmed">
          {t('knowledge.search.score', { score: number(Math.round(score * 100) / 100) })}
        </Text>
      </Group>
      <Text size="sm" style={{ whiteSpace: 'pre-line' }}>
        {text}
      </Text>
      {url !== null && /^https?:\/\//i.test(url) && (
        <Anchor href={url} target="_blank" rel="noopener noreferrer" size="xs">
          {url}
        </Anchor>
      )}
    </Paper>
  )
}
