/** Runs a tool as the agent would, and shows the request and the result that the agent receives. */
import { Badge, Button, Code, Group, Modal, Stack, Text } from '@mantine/core'
import { IconPlayerPlay } from '@tabler/icons-react'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { api } from '../api/client.ts'
import { must } from '../api/queries.ts'
import type { Schemas } from '../api/types.ts'
import { milliseconds } from '../ui/format.ts'
import { ProblemAlert } from '../ui/states.tsx'
import { ArgumentFields, type Arguments, argumentsOf } from './arguments.tsx'
import { type ToolDraft, toolDraft, toolOf } from './draft.ts'
import { useDraft, useEditing } from './form.ts'
import { same } from './same.ts'

export function ToolTrialButton({ index }: { index: number }) {
  const { t } = useTranslation('projects')
  const { t: common } = useTranslation()
  const [opened, setOpened] = useState(false)
  const tool = useDraft().values.tools[index]
  if (!tool) return null
  return (
    <>
      <Button
        variant="default"
        leftSection={<IconPlayerPlay size={16} aria-hidden />}
        onClick={() => setOpened(true)}
        disabled={tool.name === ''}
      >
        {t('trial.action')}
      </Button>
      <Modal
        opened={opened}
        onClose={() => setOpened(false)}
        title={t('trial.title', { name: tool.name })}
        size="lg"
        closeButtonProps={{ 'aria-label': common('close') }}
      >
        <Trial tool={tool} onRefused={() => setOpened(false)} />
      </Modal>
    </>
  )
}

/** The API runs only saved tools, so an unsaved tool is saved first. */
function Trial({ tool, onRefused }: { tool: ToolDraft; onRefused: () => void }) {
  const { t } = useTranslation('projects')
  const { saved, save } = useEditing()
  const [values, setValues] = useState<Arguments>({ fields: {}, text: '{}' })
  const before = saved.tools.find(({ name }) => name === tool.name)
  const changed = !before || !same(toolOf(tool), toolOf(toolDraft(before)))
  const given = argumentsOf(tool.parameters, values)
  const run = useMutation({
    async mutationFn(body: { arguments: Record<string, unknown> }) {
      if (changed && !(await save())) {
        onRefused()
        return null
      }
      const path = { project_id: saved.id, name: tool.name }
      return must(api.POST('/v1/public/projects/{project_id}/tools/{name}/test', { params: { path }, body }))
    },
  })
  return (
    <Stack>
      <Text size="sm" c="dimmed">
        {t('trial.hint')}
      </Text>
      <form
        noValidate
        onSubmit={event => {
          event.preventDefault()
          if (given !== null) run.mutate({ arguments: given })
        }}
      >
        <Stack gap="sm">
          <ArgumentFields parameters={tool.parameters} values={values} onChange={setValues} />
          <Button type="submit" loading={run.isPending} disabled={given === null} style={{ alignSelf: 'flex-start' }}>
            {changed ? t('trial.saveAndRun') : t('trial.run')}
          </Button>
        </Stack>
      </form>
      <ProblemAlert error={run.error} />
      <div aria-live="polite">{run.data && <ToolTrialResult trial={run.data} />}</div>
    </Stack>
  )
}

function ToolTrialResult({ trial: { request, status, http_status, ms, result } }: { trial: Schemas['ToolTrial'] }) {
  const { t } = useTranslation('projects')
  return (
    <Stack gap="sm">
      <Group gap="xs">
        <Badge color={status === 'ok' ? undefined : 'red'} tt="none">
          {t(`trial.statuses.${status}`)}
        </Badge>
        {http_status !== null && <Text size="sm">HTTP {http_status}</Text>}
        <Text size="sm">{t('trial.took', { time: milliseconds(ms) })}</Text>
      </Group>
      <Shown label={t('trial.agentSees')} text={result} />
      {request === null ? (
        <Text size="sm">{t('trial.notSent')}</Text>
      ) : (
        <>
          <Shown label={t('trial.request')} text={`${request.method} ${request.url}`} />
          <Text size="sm">
            {t('trial.headers')} <Code>{request.header_names.join(', ')}</Code>
          </Text>
          {request.body !== null && <Shown label={t('trial.body')} text={request.body} />}
        </>
      )}
    </Stack>
  )
}

function Shown({ label, text }: { label: string; text: string }) {
  return (
    <div>
      <Text size="sm" fw={600}>
        {label}
      </Text>
      <Code block style={{ whiteSpace: 'pre-wrap' }} mah={260} tabIndex={0} role="region" aria-label={label}>
        {text}
      </Code>
    </div>
  )
}
