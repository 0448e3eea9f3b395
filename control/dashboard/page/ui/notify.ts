import { notifications } from '@mantine/notifications'
import i18next from 'i18next'

/** A word about what was done, which goes away by itself. */
export const tell = (message: string) =>
  notifications.show({ message, withBorder: true, closeButtonProps: { 'aria-label': i18next.t('close') } })
