import { Group, Stack, Title } from '@mantine/core'
import { useDocumentTitle } from '@mantine/hooks'
import type { ReactNode } from 'react'

interface PageProps {
  title: string
  /** Buttons beside the title. */
  actions?: ReactNode
  children: ReactNode
}

/** Every page has one `h1`; its sections start at `h2`. */
export function Page({ title, actions, children }: PageProps) {
  useDocumentTitle(`${title} · Parley`)
  return (
    <Stack gap="lg">
      <Group justify="space-between" gap="sm">
        <Title order={1} size="h2">
          {title}
        </Title>
        {actions && <Group gap="xs">{actions}</Group>}
      </Group>
      {children}
    </Stack>
  )
}
