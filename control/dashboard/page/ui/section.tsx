import { Paper, Stack, Text, Title } from '@mantine/core'
import type { ReactNode } from 'react'

interface SectionProps {
  title: string
  hint?: ReactNode
  /** Target of links to the section. */
  id?: string
  children: ReactNode
}

/** A titled section of a page. */
export function Section({ title, hint, id, children }: SectionProps) {
  return (
    <Paper component="section" withBorder p="md" id={id} aria-label={title}>
      <Stack>
        <div>
          <Title order={2} size="h4">
            {title}
          </Title>
          {hint && (
            <Text size="sm" c="dimmed">
              {hint}
            </Text>
          )}
        </div>
        {children}
      </Stack>
    </Paper>
  )
}
