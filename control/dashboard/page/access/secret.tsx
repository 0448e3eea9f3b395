import { Alert, Button, Group, Modal, Stack, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { CopyBlock } from '../ui/copy.tsx'

interface SecretProps {
  title: string
  /** Null hides the dialog. */
  value: string | null
  label: string
  onClose: () => void
  children?: ReactNode
}

/**
 * Shows a secret that is available only once. Only its button closes the dialog, so that the secret isn't lost by
 * accident.
 */
export function Secret({ title, value, label, onClose, children }: SecretProps) {
  const { t } = useTranslation('access')
  return (
    <Modal
      opened={value !== null}
      onClose={onClose}
      title={title}
      size="lg"
      centered
      closeOnClickOutside={false}
      closeOnEscape={false}
      withCloseButton={false}
    >
      <Stack>
        <Alert color="orange" variant="outline">
          <Text size="sm">{t('once')}</Text>
        </Alert>
        <CopyBlock value={value ?? ''} label={label} />
        {children}
        <Group justify="flex-end">
          <Button onClick={onClose}>{t('kept')}</Button>
        </Group>
      </Stack>
    </Modal>
  )
}
