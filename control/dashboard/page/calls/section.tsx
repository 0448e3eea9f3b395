import { Group, Paper, Stack, Title } from '@mantine/core'
import { type ReactNode, useId } from 'react'

/** A titled section of the call page. */
export function Section({ title, aside, children }: { title: string; aside?: ReactNode; children: ReactNode }) {
  const id = useId()
  return (
    <Paper withBorder p="md" component="section" aria-labelledby={id} miw={0}>
      <Stack gap="sm">
        <Group justify="space-between" gap="xs">
          <Title order={2} size="h4" id={id}>
            {title}
          </Title>
          {aside}
        </Group>
        {children}
      </Stack>
    </Paper>
  )
}
