/** Edits the HTTP tools of the agent. */
import { Accordion, Badge, Button, Group, Text } from '@mantine/core'
import { IconPlus } from '@tabler/icons-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { Section } from '../ui/section.tsx'
import type { ToolDraft } from './draft.ts'
import { useDraft } from './form.ts'
import { ListButtons } from './list-buttons.tsx'
import { nextKey, toDraft } from './schema.ts'
import { ToolFields } from './tool.tsx'
import { ToolTrialButton } from './trial.tsx'

const MOST = 32

const fresh = (): ToolDraft => ({
  key: nextKey(),
  name: '',
  description: '',
  method: 'GET',
  url: '',
  parameters: toDraft({ type: 'object', properties: {} }),
  filler: { kind: 'default', phrase: '', stages: [] },
  headers: [],
  timeout_ms: 10_000,
})

export default function ToolsTab() {
  const { t } = useTranslation('projects')
  const form = useDraft()
  const { tools } = form.values
  const [opened, setOpened] = useState<string[]>([])
  // Open the tools that have errors, so that no error is hidden.
  const wrong = tools.filter((_, index) => Object.keys(form.errors).some(path => path.startsWith(`tools.${index}.`)))
  const open = [...new Set([...opened, ...wrong.map(({ key }) => key)])]
  const add = () => {
    const tool = fresh()
    form.insertListItem('tools', tool)
    setOpened([...opened, tool.key])
  }
  return (
    <Section title={t('tabs.tools')} hint={t('tools.hint')}>
      {tools.length > 0 && (
        <Accordion multiple variant="separated" value={open} onChange={setOpened} order={3} keepMounted={false}>
          {tools.map((tool, index) => (
            <OneTool key={tool.key} tool={tool} index={index} count={tools.length} />
          ))}
        </Accordion>
      )}
      {tools.length === 0 && (
        <Text size="sm" c="dimmed">
          {t('tools.empty')}
        </Text>
      )}
      {tools.length < MOST && (
        <Button
          variant="default"
          leftSection={<IconPlus size={16} aria-hidden />}
          onClick={add}
          style={{ alignSelf: 'flex-start' }}
        >
          {t('tools.add')}
        </Button>
      )}
    </Section>
  )
}

function OneTool({ tool, index, count }: { tool: ToolDraft; index: number; count: number }) {
  const { t } = useTranslation('projects')
  const name = tool.name || t('tools.one', { place: index + 1 })
  return (
    <Accordion.Item value={tool.key}>
      <Accordion.Control>
        <Group gap="xs">
          <Text fw={600} ff="monospace">
            {name}
          </Text>
          <Badge variant="default">{tool.method}</Badge>
        </Group>
        <Text size="sm" c="dimmed" lineClamp={1}>
          {tool.description || tool.url}
        </Text>
      </Accordion.Control>
      <Accordion.Panel>
        <ToolFields index={index} />
        <Group justify="space-between" mt="md">
          <ToolTrialButton index={index} />
          <ListButtons path="tools" index={index} count={count} name={name} />
        </Group>
      </Accordion.Panel>
    </Accordion.Item>
  )
}
