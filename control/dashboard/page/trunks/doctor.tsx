/** Trunk diagnostics: runs the checks and shows the cause of a problem and how to fix it. */
import { Accordion, Button, Group, Loader, Paper, ScrollArea, Stack, Text, ThemeIcon, Title } from '@mantine/core'
import { IconCheck, IconStethoscope, IconX } from '@tabler/icons-react'
import { type UseMutationResult, useMutation } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { api } from '../api/client.ts'
import { must } from '../api/queries.ts'
import type { Schemas } from '../api/types.ts'
import { DiagnosisAlert } from '../diagnosis/diagnosis.tsx'
import { CopyIcon } from '../ui/copy.tsx'
import { exactTime, milliseconds } from '../ui/format.ts'
import { ProblemAlert } from '../ui/states.tsx'
import { spoken } from '../words/words.ts'
import { trunksChanged } from './queries.ts'
import { Dot } from './status.tsx'

type Report = Schemas['TrunkCheck']
type Check = UseMutationResult<Report, Error, void>

export const useCheck = (id: string): Check =>
  useMutation({
    mutationFn: () => must(api.POST('/v1/public/trunks/{trunk_id}/check', { params: { path: { trunk_id: id } } })),
    onSuccess: () => void trunksChanged(),
  })

export function Doctor({ check }: { check: Check }) {
  const { t } = useTranslation('trunks')
  return (
    <Paper withBorder p="md" component="section" aria-label={t('doctor.title')}>
      <Stack>
        <Group justify="space-between">
          <Title order={2} size="h4">
            {t('doctor.title')}
          </Title>
          <Button
            variant={check.data ? 'default' : 'outline'}
            leftSection={<IconStethoscope size={16} aria-hidden />}
            loading={check.isPending}
            onClick={() => check.mutate()}
          >
            {check.data ? t('doctor.again') : t('doctor.check')}
          </Button>
        </Group>
        <div aria-live="polite">
          {check.isPending && (
            <Group gap="sm">
              <Loader size="sm" aria-hidden />
              <Text>{t('doctor.running')}</Text>
            </Group>
          )}
          {check.isIdle && <Text c="dimmed">{t('doctor.lead')}</Text>}
          <ProblemAlert error={check.error} />
          {check.data && !check.isPending && <Findings report={check.data} />}
        </div>
      </Stack>
    </Paper>
  )
}

function Findings({ report }: { report: Report }) {
  const { t } = useTranslation('trunks')
  return (
    <Stack>
      <Group gap="sm">
        <Dot color={report.ok ? 'teal' : 'red'}>{report.ok ? t('doctor.ok') : t('doctor.failed')}</Dot>
        <Text size="sm" c="dimmed">
          {t('doctor.at', { time: exactTime(report.checked_at) })}
        </Text>
      </Group>
      {report.diagnosis && <DiagnosisAlert diagnosis={report.diagnosis} />}
      <Stack component="ol" gap="xs" m={0} p={0} style={{ listStyle: 'none' }} aria-label={t('doctor.steps')}>
        {report.checks.map(step => (
          <Step step={step} key={`${step.name} ${step.host}`} />
        ))}
      </Stack>
      <Messages report={report} />
    </Stack>
  )
}

function Step({ step }: { step: Report['checks'][number] }) {
  const { t } = useTranslation('trunks')
  const result = step.ok ? 'ok' : 'failed'
  const Icon = step.ok ? IconCheck : IconX
  return (
    <Group component="li" gap="sm" wrap="nowrap" align="flex-start">
      <ThemeIcon
        size="sm"
        radius="xl"
        color={step.ok ? 'teal' : 'red'}
        role="img"
        aria-hidden={undefined}
        aria-label={t(`doctor.result.${result}`)}
      >
        <Icon size={12} aria-hidden />
      </ThemeIcon>
      <div style={{ flex: 1, minWidth: 0 }}>
        <Group gap="xs" justify="space-between">
          <Text fw={600} size="sm">
            {t(`checks.${step.name}.title`)}
          </Text>
          <Text size="xs" c="dimmed">
            {step.host}
            {step.ms > 0 && ` · ${milliseconds(step.ms)}`}
          </Text>
        </Group>
        <Text size="sm">{t(`checks.${step.name}.${result}`, { message: step.message })}</Text>
        {spoken() !== 'en' && (
          <Text size="xs" c="dimmed" lang="en">
            {step.message}
          </Text>
        )}
      </div>
    </Group>
  )
}

/** The SIP messages of the checks; those that show the cause are marked. */
function Messages({ report }: { report: Report }) {
  const { t } = useTranslation('trunks')
  const { messages, omitted, diagnosis, ladder } = report
  if (messages.length === 0) return null
  const evidence = new Set(diagnosis?.evidence)
  return (
    <Accordion variant="contained" order={3} chevronPosition="left">
      <Accordion.Item value="messages">
        <Accordion.Control>{t('doctor.messages', { count: messages.length })}</Accordion.Control>
        <Accordion.Panel>
          <Stack>
            <Ladder text={ladder} />
            {omitted > 0 && <Text size="sm">{t('doctor.omitted', { count: omitted })}</Text>}
            <Accordion variant="separated" order={4} chevronPosition="left">
              {messages.map((message, index) => (
                <Accordion.Item
                  // biome-ignore lint/suspicious/noArrayIndexKey: a report never changes
                  key={index}
                  value={String(index)}
                >
                  <Accordion.Control>
                    <Group gap="xs">
                      <Text size="xs" c="dimmed">
                        #{index} · {exactTime(message.at)} · {t(`doctor.direction.${directionOf(message)}`)}
                      </Text>
                      <Text size="sm" ff="monospace">
                        {message.start_line}
                      </Text>
                      {evidence.has(index) && <Dot color="red">{t('doctor.evidence')}</Dot>}
                    </Group>
                  </Accordion.Control>
                  <Accordion.Panel>
                    <Text component="pre" size="xs" ff="monospace" m={0} style={{ whiteSpace: 'pre-wrap' }}>
                      {message.text}
                    </Text>
                  </Accordion.Panel>
                </Accordion.Item>
              ))}
            </Accordion>
          </Stack>
        </Accordion.Panel>
      </Accordion.Item>
    </Accordion>
  )
}

/** Shows only the diagram: the page shows the other lines elsewhere. The copy button copies the whole text. */
function Ladder({ text }: { text: string }) {
  const { t } = useTranslation('trunks')
  const lines = text.split('\n')
  const from = lines.findIndex(line => /^\s*#/.test(line))
  const to = lines.findIndex(line => line.startsWith('---'))
  const drawing = lines.slice(Math.max(0, from), to < 0 ? undefined : to).join('\n')
  return (
    <Group gap="xs" wrap="nowrap" align="flex-start">
      <ScrollArea
        type="auto"
        flex={1}
        viewportProps={{ tabIndex: 0, role: 'region', 'aria-label': t('doctor.ladder') }}
      >
        <Text component="pre" size="xs" ff="monospace" m={0} w="max-content" style={{ whiteSpace: 'pre' }}>
          {drawing.trimEnd()}
        </Text>
      </ScrollArea>
      <CopyIcon value={text} label={t('doctor.copy')} />
    </Group>
  )
}

const directionOf = ({ generated, sent }: Schemas['SipMessage']) =>
  generated ? 'generated' : sent ? 'sent' : 'received'
