/** Inputs for one call: values of the project's variables and a task. */
import { Button, Collapse, Stack, Text, Textarea, TextInput } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { IconChevronDown, IconChevronRight } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useId } from 'react'
import { useTranslation } from 'react-i18next'
import { projectQuery } from '../api/projects.ts'
import { varsOfProject } from './project-vars.ts'

export interface GivenValues {
  task: string
  vars: Record<string, string>
}

interface GivenProps {
  projectId: string
  values: GivenValues
  onChange: (values: GivenValues) => void
}

const LONGEST_TASK = 8000
const LONGEST_VALUE = 4000

/** Builds the API fields; empty values are omitted. */
export function givenBody({ task, vars }: GivenValues): { task?: string; vars?: Record<string, string> } {
  const filled = Object.entries(vars).filter(([, value]) => value !== '')
  return {
    ...(task.trim() ? { task } : {}),
    ...(filled.length > 0 ? { vars: Object.fromEntries(filled) } : {}),
  }
}

function useVars(projectId: string, task: string): string[] {
  const { data: project } = useQuery(projectQuery(projectId))
  return project ? varsOfProject(project, task) : []
}

/** Collapsed by default, since most calls need neither. */
export function Given(props: GivenProps) {
  const { t } = useTranslation('talk')
  const names = useVars(props.projectId, props.values.task)
  const [opened, { toggle }] = useDisclosure()
  const id = useId()
  const Icon = opened ? IconChevronDown : IconChevronRight
  return (
    <div>
      <Button
        variant="subtle"
        size="compact-sm"
        aria-expanded={opened}
        aria-controls={id}
        leftSection={<Icon size={14} aria-hidden />}
        onClick={toggle}
      >
        {names.length > 0 ? t('given.withVars', { count: names.length }) : t('given.title')}
      </Button>
      <Collapse expanded={opened} id={id}>
        <Stack gap="xs" pt="xs">
          <GivenFields {...props} taskLabel={t('given.task')} />
        </Stack>
      </Collapse>
    </div>
  )
}

export function GivenFields({ projectId, values, onChange, taskLabel }: GivenProps & { taskLabel: string }) {
  const { t } = useTranslation('talk')
  const { t: common } = useTranslation()
  const names = useVars(projectId, values.task)
  return (
    <>
      <Textarea
        label={taskLabel}
        description={common('optional')}
        autosize
        minRows={2}
        maxRows={6}
        maxLength={LONGEST_TASK}
        value={values.task}
        onChange={event => onChange({ ...values, task: event.currentTarget.value })}
      />
      {names.map(name => (
        <TextInput
          key={name}
          label={`{{${name}}}`}
          maxLength={LONGEST_VALUE}
          value={values.vars[name] ?? ''}
          onChange={event => onChange({ ...values, vars: { ...values.vars, [name]: event.currentTarget.value } })}
        />
      ))}
      {names.length > 0 && (
        <Text size="xs" c="dimmed">
          {t('given.hint')}
        </Text>
      )}
    </>
  )
}
