import { Button, Group, List, Progress, Stack, Text, Textarea, TextInput } from '@mantine/core'
import { useEffect, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { problemText } from '../api/problems.ts'
import { Dialog } from '../ui/dialog.tsx'
import { number } from '../ui/format.ts'
import { Notice } from '../ui/notice.tsx'
import { readPhone } from '../ui/phone.ts'
import { useHomeRegion } from '../ui/region.ts'
import { type AddingState, type Line, useAdding } from './adding.ts'

const MOST = 1000

/** Splits the text by lines, commas and semicolons, and removes duplicates. */
export function linesOf(text: string, region: string | null): Line[] {
  const seen = new Set<string>()
  return text
    .split(/[\n\r,;\t]+/)
    .map(part => part.trim())
    .filter(part => part !== '')
    .map(part => ({ text: part, phone: readPhone(part, region) }))
    .filter(({ text: part, phone }) => {
      const name = phone ?? part
      if (seen.has(name)) return false
      seen.add(name)
      return true
    })
}

interface AddDialogProps {
  opened: boolean
  onClose: () => void
}

export function AddDialog({ opened, onClose }: AddDialogProps) {
  const { t } = useTranslation('do-not-call')
  const adding = useAdding()
  const { state, reset, stop } = adding
  const close = () => {
    stop()
    reset()
    onClose()
  }
  return (
    <Dialog opened={opened} onClose={close} title={t('add')} size="lg">
      {state === null ? (
        <Enter onAdd={adding.add} onCancel={close} />
      ) : (
        <Progressing state={state} onClose={close} onMore={reset} />
      )}
    </Dialog>
  )
}

interface EnterProps {
  onAdd: (lines: readonly Line[], note: string) => void
  onCancel: () => void
}

function Enter({ onAdd, onCancel }: EnterProps) {
  const { t } = useTranslation('do-not-call')
  const { t: common } = useTranslation()
  const home = useHomeRegion(null)
  const [text, setText] = useState('')
  const [note, setNote] = useState('')
  const [lines, setLines] = useState<Line[]>([])
  const region = home?.region ?? null
  useEffect(() => setLines(linesOf(text, region)), [text, region])
  const good = lines.filter(({ phone }) => phone !== null)
  const bad = lines.filter(({ phone }) => phone === null)
  return (
    <Stack>
      <Textarea
        data-autofocus
        autosize
        minRows={4}
        maxRows={12}
        label={t('numbers')}
        description={t(region === null ? 'numbersHintCode' : 'numbersHint')}
        value={text}
        error={lines.length > MOST ? t('tooMany', { most: number(MOST) }) : null}
        onChange={event => setText(event.currentTarget.value)}
      />
      <Stack gap={4} aria-live="polite">
        {lines.length > 0 && <Text size="sm">{t('understood', { count: good.length })}</Text>}
        {bad.length > 0 && (
          <Notice color="orange" title={t('notUnderstood', { count: bad.length })}>
            <Text size="sm" lineClamp={3}>
              {bad
                .slice(0, 20)
                .map(line => line.text)
                .join(' · ')}
            </Text>
          </Notice>
        )}
      </Stack>
      <TextInput
        label={t('note')}
        description={t('noteHint')}
        maxLength={500}
        value={note}
        onChange={event => setNote(event.currentTarget.value)}
      />
      <Group justify="flex-end">
        <Button variant="default" onClick={onCancel}>
          {common('cancel')}
        </Button>
        <Button disabled={good.length === 0 || lines.length > MOST} onClick={() => onAdd(good, note.trim())}>
          {t('addCount', { count: good.length })}
        </Button>
      </Group>
    </Stack>
  )
}

interface ProgressingProps {
  state: AddingState
  onClose: () => void
  onMore: () => void
}

function Progressing({ state: { running, total, listed, refused }, onClose, onMore }: ProgressingProps) {
  const { t } = useTranslation('do-not-call')
  const { t: common } = useTranslation()
  const done = listed + refused.length
  const told = t('listed', { listed: number(listed), total: number(total) })
  return (
    <Stack>
      <Progress value={(done / Math.max(1, total)) * 100} animated={running} aria-label={told} />
      <Text role="status">{told}</Text>
      {refused.length > 0 && (
        <Notice color="red" role="alert" title={t('refused')}>
          <List size="sm">
            {refused.slice(0, 20).map(({ text, error }) => (
              <List.Item key={text}>
                {text}: {problemText(common, error)}
              </List.Item>
            ))}
          </List>
        </Notice>
      )}
      <Group justify="flex-end">
        {!running && (
          <Button variant="default" onClick={onMore}>
            {t('more')}
          </Button>
        )}
        <Button onClick={onClose}>{running ? t('stop') : common('close')}</Button>
      </Group>
    </Stack>
  )
}
