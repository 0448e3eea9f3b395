import { notifications } from '@mantine/notifications'

/** A word about what was done, which goes away by itself. */
export const tell = (message: string) => notifications.show({ message, withBorder: true })
