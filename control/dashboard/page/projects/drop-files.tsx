/** Uploads files by drag and drop or from a file dialog, one after another, with the progress and result of each. */
import { Button, CloseButton, FileButton, Group, Progress, Stack, Text } from '@mantine/core'
import { type DragEvent, useRef, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { fieldErrors, problemText } from '../api/problems.ts'
import { knowledgeQuery } from '../api/projects.ts'
import { queryClient } from '../api/queries.ts'
import { nextKey } from './schema.ts'
import { uploadKnowledge } from './upload.ts'

interface Sending {
  key: string
  name: string
  share: number
  error: unknown
}

/** The largest size of any file type. The server would abort larger uploads. */
const LARGEST = 20 * 1024 * 1024
const ENDINGS = '.txt,.md,.csv,.json,.html,.htm,.pdf,.docx'

export function DropFiles({ projectId }: { projectId: string }) {
  const { t } = useTranslation('projects')
  const [over, setOver] = useState(false)
  const { sending, send, forget } = useSending(projectId)
  const drop = (event: DragEvent) => {
    event.preventDefault()
    setOver(false)
    send([...event.dataTransfer.files])
  }
  return (
    <Stack gap="sm">
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the button inside does the same for keyboard users */}
      <div
        className={over ? 'drop over' : 'drop'}
        onDragOver={event => {
          event.preventDefault()
          setOver(true)
        }}
        onDragLeave={() => setOver(false)}
        onDrop={drop}
      >
        <Stack align="center" gap="xs" p="lg" ta="center">
          <Text size="sm">{t('knowledge.files.drop')}</Text>
          <FileButton
            multiple
            accept={ENDINGS}
            onChange={send}
            inputProps={{ 'aria-label': t('knowledge.files.choose') }}
          >
            {props => (
              <Button variant="default" {...props}>
                {t('knowledge.files.choose')}
              </Button>
            )}
          </FileButton>
          <Text size="xs" c="dimmed">
            {t('knowledge.files.hint')}
          </Text>
        </Stack>
      </div>
      <div aria-live="polite">
        {sending.map(one => (
          <OneFile key={one.key} sending={one} onClose={() => forget(one.key)} />
        ))}
      </div>
    </Stack>
  )
}

class TooLarge extends Error {}

/** Uploads one file at a time: parallel uploads would only share the same bandwidth. */
function useSending(projectId: string) {
  const [sending, setSending] = useState<Sending[]>([])
  const queue = useRef(Promise.resolve())
  const change = (key: string, changed: Partial<Sending>) =>
    setSending(all => all.map(one => (one.key === key ? { ...one, ...changed } : one)))
  const forget = (key: string) => setSending(all => all.filter(one => one.key !== key))
  const sendOne = async (file: File, key: string) => {
    try {
      if (file.size > LARGEST) throw new TooLarge()
      await uploadKnowledge(projectId, file, share => change(key, { share }))
      forget(key)
      await queryClient.invalidateQueries({ queryKey: knowledgeQuery(projectId).queryKey })
    } catch (error) {
      change(key, { error })
    }
  }
  const send = (files: File[]) => {
    for (const file of files) {
      const key = nextKey()
      setSending(all => [...all, { key, name: file.name, share: 0, error: null }])
      queue.current = queue.current.then(() => sendOne(file, key))
    }
  }
  return { sending, send, forget }
}

function OneFile({ sending: { name, share, error }, onClose }: { sending: Sending; onClose: () => void }) {
  const { t } = useTranslation('projects')
  const { t: common } = useTranslation()
  if (error !== null) {
    const [refused = problemText(common, error)] = Object.values(fieldErrors(common, error))
    const why = error instanceof TooLarge ? t('knowledge.files.tooLarge') : refused
    return (
      <Group justify="space-between" wrap="nowrap" role="alert">
        <Text size="sm" c="var(--mantine-color-error)">
          {name}: {why}
        </Text>
        <CloseButton aria-label={common('close')} onClick={onClose} />
      </Group>
    )
  }
  return (
    <Stack gap={4}>
      <Text size="sm">{name}</Text>
      <Progress value={share * 100} aria-label={t('knowledge.files.sending', { name })} />
    </Stack>
  )
}
