/** The API key and the project that a call is started with. */
import { NativeSelect, Stack, Text, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { type FormEvent, useEffect, useId, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { apiWithKey } from '../api/client.ts'
import { must } from '../api/queries.ts'
import { TalkError } from '../conversation/talk-error.ts'
import { namedOptions } from '../ui/options.ts'

export interface Chosen {
  key: string
  projectId: string
}

interface SessionFormProps {
  chosen: Chosen | null
  onChoose: (chosen: Chosen | null) => void
  /** Reports why the projects can't be listed; null once they can. */
  onProblem: (problem: unknown) => void
}

/** The key stays in memory. */
export function SessionForm({ chosen, onChoose, onProblem }: SessionFormProps) {
  const { t } = useTranslation('talk-page')
  const note = useId()
  const [key, setKey] = useState(chosen?.key ?? '')
  const [listedKey, setListedKey] = useState(key)
  const { data, error, refetch } = useQuery({
    queryKey: ['projects of key', listedKey],
    queryFn: ({ signal }) => must(apiWithKey(listedKey).GET('/v1/public/projects', { signal })),
    enabled: listedKey !== '',
    gcTime: 0,
  })
  const projects = data?.projects ?? []
  // biome-ignore lint/correctness/useExhaustiveDependencies: run when an answer arrives
  useEffect(() => {
    if (!data && !error) return
    onProblem(error ?? (projects.length === 0 ? new TalkError('no_projects') : null))
    const isListed = chosen?.key === listedKey && projects.some(({ id }) => id === chosen.projectId)
    if (!isListed) onChoose(projects[0] ? { key: listedKey, projectId: projects[0].id } : null)
  }, [data, error])
  const listProjects = () => {
    if (key.trim() === listedKey) return
    setListedKey(key.trim())
    onChoose(null)
    onProblem(null)
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (error && key.trim() === listedKey) void refetch()
    else listProjects()
  }
  return (
    <form onSubmit={submit} autoComplete="off">
      <Stack gap="xs">
        <TextInput
          type="password"
          label={t('key')}
          placeholder="svc_…"
          autoComplete="off"
          autoCapitalize="off"
          spellCheck={false}
          aria-describedby={note}
          value={key}
          onChange={event => setKey(event.currentTarget.value)}
          onBlur={listProjects}
        />
        <NativeSelect
          label={t('project')}
          disabled={projects.length === 0}
          data={namedOptions(projects)}
          value={chosen?.projectId ?? ''}
          onChange={event => onChoose({ key: listedKey, projectId: event.currentTarget.value })}
        />
        <Text component="details" id={note} size="sm" c="dimmed">
          <summary>{t('keySummary')}</summary>
          {t('keyNote')}
        </Text>
      </Stack>
    </form>
  )
}
