/** An alert for information. Its title uses the text color: Mantine's colored titles are too pale for small text. */
import { Alert, type AlertProps } from '@mantine/core'

export function Notice(props: Omit<AlertProps, 'variant' | 'styles'>) {
  return <Alert variant="outline" styles={{ title: { color: 'var(--mantine-color-text)' } }} {...props} />
}
