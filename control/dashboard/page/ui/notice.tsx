/** Something to know before going on. Its title is in the ink of the page: coloured ones are too pale for small text. */
import { Alert, type AlertProps } from '@mantine/core'

export function Notice(props: Omit<AlertProps, 'variant' | 'styles'>) {
  return <Alert variant="outline" styles={{ title: { color: 'var(--mantine-color-text)' } }} {...props} />
}
