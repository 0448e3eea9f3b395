import { Button, Group, Stack } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { Dialog } from './dialog.tsx'
import { ProblemAlert } from './states.tsx'

interface ConfirmProps {
  /** Renders the element that opens the dialog; receives the function that opens it. */
  trigger: (open: () => void) => ReactNode
  title: string
  /** Explanation of the consequences, one or two sentences. */
  children: ReactNode
  /** Label of the confirm button. */
  action: string
  /** Runs the action. If it rejects, the dialog stays open and shows the reason. */
  onConfirm: () => Promise<unknown>
  danger?: boolean
  /** Disables the confirm button while false, for example until a required field is filled in. */
  ready?: boolean
}

/** A confirmation dialog for actions that can't be undone. */
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
      <Dialog opened={opened} onClose={() => setOpened(false)} title={title} centered>
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
      </Dialog>
    </>
  )
}

interface ConfirmButtonProps extends Omit<ConfirmProps, 'trigger' | 'danger'> {
  /** Accessible name of the button, if `action` alone is ambiguous. */
  label?: string
  size?: 'compact-sm'
}

/** A red button that asks for confirmation. Its text is that of the confirm button. */
export function ConfirmButton({ label, size, ...confirm }: ConfirmButtonProps) {
  return (
    <Confirm
      trigger={open => (
        <Button variant="subtle" color="red" size={size} onClick={open} aria-label={label}>
          {confirm.action}
        </Button>
      )}
      {...confirm}
    />
  )
}
