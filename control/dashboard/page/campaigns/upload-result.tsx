import { Button, Group, Progress, SimpleGrid, Stack, Text, Title } from '@mantine/core'
import { IconDownload } from '@tabler/icons-react'
import { useEffect, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { number } from '../ui/format.ts'
import { Notice } from '../ui/notice.tsx'
import { ProblemAlert } from '../ui/states.tsx'
import { DataTable } from '../ui/table.tsx'
import { refusedCsv } from './refused.ts'
import type { SendingState } from './sending.ts'

interface SendingProps {
  state: SendingState
  onStop: () => void
  onGoOn: () => void
  onOther: () => void
}

export function Sending({ state: { step, job, done, error }, onStop, onGoOn, onOther }: SendingProps) {
  const { t } = useTranslation('campaigns')
  const told = { done: number(done), total: number(job.rows.length) }
  return (
    <Stack aria-live="polite">
      <Progress
        value={(done / job.rows.length) * 100}
        animated={step === 'sending'}
        aria-label={t('upload.sending', told)}
      />
      {step === 'sending' && (
        <Group>
          <Text size="sm">{t('upload.sending', told)}</Text>
          <Button variant="default" size="xs" onClick={onStop}>
            {t('upload.stop')}
          </Button>
        </Group>
      )}
      {step !== 'sending' && (
        <>
          <Text>{t(step === 'broke' ? 'upload.broke' : 'upload.stopped', told)}</Text>
          <ProblemAlert error={error} />
          <Group>
            <Button onClick={onGoOn}>{t('upload.goOn')}</Button>
            <Button variant="default" onClick={onOther}>
              {t('upload.other')}
            </Button>
          </Group>
        </>
      )}
    </Stack>
  )
}

const SHOWN = 20

export function Result({ state, onOther }: { state: SendingState; onOther: () => void }) {
  const { t } = useTranslation('campaigns')
  const { accepted, duplicates, refused, total } = state
  const counts = { accepted, duplicates, invalid: refused.length, total }
  return (
    <Stack>
      <Stack role="status">
        <Title order={3} size="h5">
          {t('upload.result')}
        </Title>
        <SimpleGrid cols={{ base: 2, sm: 4 }} component="dl" m={0}>
          {(['accepted', 'duplicates', 'invalid', 'total'] as const).map(kind => (
            <div key={kind}>
              <Text component="dt" size="sm" c="dimmed">
                {t(`upload.${kind}`)}
              </Text>
              <Text component="dd" m={0} fw={600} size="lg">
                {number(counts[kind])}
              </Text>
            </div>
          ))}
        </SimpleGrid>
      </Stack>
      {refused.length > 0 && <RefusedRows state={state} />}
      <Group>
        <Button variant="default" onClick={onOther}>
          {t('upload.other')}
        </Button>
      </Group>
    </Stack>
  )
}

function RefusedRows({ state: { refused, job } }: { state: SendingState }) {
  const { t } = useTranslation('campaigns')
  const [url, setUrl] = useState('')
  useEffect(() => {
    const head = [t('upload.row'), t('upload.reason'), ...job.columns.map(({ title, variable }) => title || variable)]
    const rows = refused.map(({ row, code }) => ({ row, reason: t(`upload.codes.${code}`) }))
    const made = URL.createObjectURL(new Blob([refusedCsv(head, rows, job.delimiter)], { type: 'text/csv' }))
    setUrl(made)
    return () => URL.revokeObjectURL(made)
  }, [t, refused, job])
  return (
    <Stack gap="xs">
      <Notice color="orange" title={t('upload.refusedRows')}>
        {refused.length > SHOWN && (
          <Text size="sm">{t('upload.firstOf', { shown: number(SHOWN), total: number(refused.length) })}</Text>
        )}
        <DataTable
          label={t('upload.refusedRows')}
          minWidth={420}
          items={refused.slice(0, SHOWN)}
          rowKey={({ row }) => String(row.number)}
          empty=""
          columns={[
            { key: 'row', header: t('upload.row'), align: 'right', cell: ({ row }) => number(row.number) },
            { key: 'cells', header: t('upload.columns'), cell: ({ row }) => row.cells.join(' · ') },
            { key: 'reason', header: t('upload.reason'), cell: ({ code }) => t(`upload.codes.${code}`) },
          ]}
        />
      </Notice>
      <Group>
        <Button
          component="a"
          href={url}
          download={t('upload.downloadName')}
          variant="default"
          leftSection={<IconDownload size={16} aria-hidden />}
        >
          {t('upload.download')}
        </Button>
      </Group>
    </Stack>
  )
}
