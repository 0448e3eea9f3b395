import { Anchor, Badge, Code, Group, Stack, Text } from '@mantine/core'
import { IconChevronRight, IconTool } from '@tabler/icons-react'
import { useTranslation } from 'react-i18next'
import { Link } from 'react-router'
import { CopyBlock } from '../ui/copy.tsx'
import { duration, milliseconds } from '../ui/format.ts'
import type { ToolCall } from './timeline.ts'

/** Shows a tool call as one line that expands to its arguments and result. */
export function ToolUse({ tool, projectId }: { tool: ToolCall; projectId: string }) {
  const { t } = useTranslation('calls')
  const { name, status, ms, http_status, filler, knowledge, started_ms } = tool
  return (
    <li className="call-entry" data-role="tool">
      <details>
        <summary className="call-more">
          <IconChevronRight size={14} className="call-chevron" aria-hidden />
          <Group gap="xs" flex={1}>
            <IconTool size={14} role="img" aria-label={t('roles.tool')} />
            <Code>{name}</Code>
            <Badge variant="dot" color={status === 'ok' ? 'parley' : 'red'} tt="none" fw={500}>
              {t(`toolStatus.${status}`)}
            </Badge>
            <Text size="xs" c="dimmed" className="call-clock">
              {duration(started_ms / 1000)} · {milliseconds(ms)}
              {http_status !== null && ` · ${t('tool.http', { status: http_status })}`}
            </Text>
          </Group>
        </summary>
        <Stack gap="xs" pt="xs">
          <Labelled name={t('tool.arguments')}>
            <CopyBlock value={JSON.stringify(tool.arguments, null, 2)} label={t('tool.arguments')} />
          </Labelled>
          <Labelled name={t('tool.result')}>
            <CopyBlock value={readable(tool.result)} label={t('tool.result')} />
          </Labelled>
          {filler.length > 0 && (
            <Labelled name={t('tool.filler')}>
              <Text size="sm">{filler.join(' ')}</Text>
            </Labelled>
          )}
        </Stack>
      </details>
      {knowledge && knowledge.length > 0 && <Sources knowledge={knowledge} projectId={projectId} />}
    </li>
  )
}

function Labelled({ name, children }: { name: string; children: React.ReactNode }) {
  return (
    <div>
      <Text size="xs" c="dimmed">
        {name}
      </Text>
      {children}
    </div>
  )
}

/** The sources of the passages found, without duplicates. */
function Sources({ knowledge, projectId }: { knowledge: NonNullable<ToolCall['knowledge']>; projectId: string }) {
  const { t } = useTranslation('calls')
  const bySource = Map.groupBy(knowledge, ({ source_id }) => source_id)
  return (
    <Text size="sm">
      {t('tool.knowledge')}:{' '}
      {[...bySource].map(([id, passages], index) => (
        <span key={id}>
          {index > 0 && ', '}
          <Anchor component={Link} to={`/projects/${projectId}`} size="sm" underline="always">
            {passages[0]!.source}
          </Anchor>{' '}
          ({t('tool.passages', { count: passages.length })})
        </span>
      ))}
    </Text>
  )
}

/** Indents JSON; returns other text unchanged. */
function readable(text: string): string {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' ? JSON.stringify(value, null, 2) : text
  } catch {
    return text
  }
}
