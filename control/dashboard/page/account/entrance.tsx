/** The layout of the log-in, sign-up and password pages. */
import { Center, Paper, Stack, Text, Title } from '@mantine/core'
import { useDocumentTitle } from '@mantine/hooks'
import type { ReactNode } from 'react'

export function Entrance({ title, lead, children }: { title: string; lead?: string; children: ReactNode }) {
  useDocumentTitle(`${title} · Parley`)
  return (
    <Center component="main" mih="100dvh" p="md">
      <Paper withBorder p="xl" w="100%" maw={420}>
        <Stack>
          <div>
            <Text fw={700} c="dimmed">
              Parley
            </Text>
            <Title order={1} size="h2">
              {title}
            </Title>
            {lead && <Text c="dimmed">{lead}</Text>}
          </div>
          {children}
        </Stack>
      </Paper>
    </Center>
  )
}

/** Returns the page to open after log-in. Accepts only paths within the dashboard, to prevent open redirects. */
export function wayBack(search: string): string {
  const back = new URLSearchParams(search).get('back') ?? '/'
  return /^\/(?![/\\])/.test(back) ? back : '/'
}
