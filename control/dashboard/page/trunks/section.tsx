import { Group, Stack, Text, Title } from '@mantine/core'
import type { ReactNode } from 'react'

interface SectionProps {
  title: string
  lead: string
  actions?: ReactNode
  children: ReactNode
}

/** A titled section of the page. */
export function Section({ title, lead, actions, children }: SectionProps) {
  return (
    <Stack component="section" gap="xs" aria-label={title}>
      <Group justify="space-between" gap="xs">
        <Title order={2} size="h4">
          {title}
        </Title>
        {actions}
      </Group>
      <Text size="sm" c="dimmed">
        {lead}
      </Text>
      {children}
    </Stack>
  )
}
