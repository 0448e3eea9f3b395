import { notifications } from '@mantine/notifications'
import i18next from 'i18next'

/** Shows a notification that disappears by itself. */
export const notify = (message: string) =>
  notifications.show({ message, withBorder: true, closeButtonProps: { 'aria-label': i18next.t('close') } })
