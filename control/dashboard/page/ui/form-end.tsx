import { Button, Group } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { ProblemAlert } from './states.tsx'

interface FormEndProps {
  /** Label of the submit button. */
  submit: string
  error: unknown
  busy: boolean
  onCancel: () => void
}

/** The end of a form in a dialog: why it was rejected, and the buttons to cancel and to submit. */
export function FormEnd({ submit, error, busy, onCancel }: FormEndProps) {
  const { t } = useTranslation()
  return (
    <>
      <ProblemAlert error={error} />
      <Group justify="flex-end">
        <Button variant="default" onClick={onCancel}>
          {t('cancel')}
        </Button>
        <Button type="submit" loading={busy}>
          {submit}
        </Button>
      </Group>
    </>
  )
}
