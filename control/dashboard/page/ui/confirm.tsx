import { Button, Group, Modal, Stack } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { ProblemAlert } from './states.tsx'

interface ConfirmProps {
  /** What opens the question, given what to do when it is pressed. */
  trigger: (open: () => void) => ReactNode
  title: string
  /** What will be, in a sentence or two. */
  children: ReactNode
  /** On the button that does it. */
  action: string
  /** Rejects where it was refused; the question then stays open with the reason. */
  onConfirm: () => Promise<unknown>
  danger?: boolean
  /** False: something in the question is still to be answered. */
  ready?: boolean
}

/** A question before what cannot be taken back. */
export function Confirm({ trigger, title, children, action, onConfirm, danger = true, ready = true }: ConfirmProps) {
  const { t } = useTranslation()
  const [opened, setOpened] = useState(false)
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>(null)
  const open = () => {
    setError(null)
    setOpened(true)
  }
  const confirm = async () => {
    setBusy(true)
    setError(null)
    try {
      await onConfirm()
      setOpened(false)
    } catch (reason) {
      setError(reason)
    } finally {
      setBusy(false)
    }
  }
  return (
    <>
      {trigger(open)}
      <Modal
        opened={opened}
        onClose={() => setOpened(false)}
        title={title}
        centered
        closeButtonProps={{ 'aria-label': t('close') }}
      >
        <Stack>
          <div>{children}</div>
          <ProblemAlert error={error} />
          <Group justify="flex-end">
            <Button variant="default" onClick={() => setOpened(false)} data-autofocus>
              {t('cancel')}
            </Button>
            <Button color={danger ? 'red' : undefined} loading={busy} disabled={!ready} onClick={confirm}>
              {action}
            </Button>
          </Group>
        </Stack>
      </Modal>
    </>
  )
}
