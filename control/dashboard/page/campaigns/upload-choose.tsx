import { Button, FileButton, Group, Paper, Stack, Text, Textarea } from '@mantine/core'
import { IconUpload } from '@tabler/icons-react'
import { type DragEvent, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { number } from '../ui/format.ts'
import { Notice } from '../ui/notice.tsx'
import type { Source } from './source.ts'

/** Larger files take too long in a browser; use the API for them. */
const MOST_BYTES = 20 * 1_048_576

export function Choose({ onSource }: { onSource: (source: Source) => void }) {
  const { t } = useTranslation('campaigns')
  const [text, setText] = useState('')
  const [problem, setProblem] = useState<'too_big' | 'unreadable' | null>(null)
  const take = async (file: File | null | undefined) => {
    if (!file) return
    if (file.size > MOST_BYTES) return setProblem('too_big')
    try {
      onSource({ name: file.name, bytes: new Uint8Array(await file.arrayBuffer()) })
    } catch {
      setProblem('unreadable')
    }
  }
  const drop = (event: DragEvent) => {
    event.preventDefault()
    void take(event.dataTransfer.files[0])
  }
  return (
    <Stack>
      <Text size="sm">{t('upload.lead')}</Text>
      <Paper
        withBorder
        p="md"
        role="group"
        aria-label={t('upload.file')}
        style={{ borderStyle: 'dashed' }}
        onDragOver={event => event.preventDefault()}
        onDrop={drop}
      >
        <Group justify="center">
          <FileButton
            onChange={take}
            accept=".csv,.tsv,.txt,text/csv,text/plain"
            inputProps={{ 'aria-label': t('upload.file') }}
          >
            {props => (
              <Button {...props} variant="default" leftSection={<IconUpload size={16} aria-hidden />}>
                {t('upload.file')}
              </Button>
            )}
          </FileButton>
          <Text size="sm" c="dimmed">
            {t('upload.drop')}
          </Text>
        </Group>
      </Paper>
      {problem && (
        <Notice color="red" role="alert">
          {t(`upload.problems.${problem}`, { megabytes: number(MOST_BYTES / 1_048_576) })}
        </Notice>
      )}
      <Textarea
        label={t('upload.paste')}
        description={t('upload.pasteHint')}
        autosize
        minRows={3}
        maxRows={10}
        value={text}
        onChange={event => setText(event.currentTarget.value)}
      />
      <Group>
        <Button variant="default" disabled={text.trim() === ''} onClick={() => onSource({ name: null, text })}>
          {t('upload.read')}
        </Button>
      </Group>
    </Stack>
  )
}
