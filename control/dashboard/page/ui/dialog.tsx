import { Modal, type ModalProps } from '@mantine/core'
import { useTranslation } from 'react-i18next'

/** A modal dialog whose close button has a translated label. */
export function Dialog(props: ModalProps) {
  const { t } = useTranslation()
  return <Modal closeButtonProps={{ 'aria-label': t('close') }} {...props} />
}
