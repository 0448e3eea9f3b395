/** The layout of the log-in, sign-up and password pages. */
import { Anchor, Center, Paper, Stack, Text, Title } from '@mantine/core'
import { useDocumentTitle } from '@mantine/hooks'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { Link } from 'react-router'

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

/** Emailed links carry their code in the URL fragment, which no server log contains. */
export const codeOfLink = () => new URLSearchParams(window.location.hash.slice(1)).get('code') ?? ''

export function HaveAccount() {
  const { t } = useTranslation('account')
  return (
    <Text size="sm">
      {t('haveAccount')}{' '}
      <Anchor component={Link} to="/log-in">
        {t('logIn')}
      </Anchor>
    </Text>
  )
}
