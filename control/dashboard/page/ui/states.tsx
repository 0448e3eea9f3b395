/** Loading, error and empty states of a page. */
import { Alert, Button, Center, Loader, Stack, Text, Title } from '@mantine/core'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { useRouteError } from 'react-router'
import { problemText } from '../api/problems.ts'
import { ParleyError } from '../api/queries.ts'

/** Shows no text, because the translations themselves may still be loading. */
export function Waiting() {
  return (
    <Center mih={160} role="status" aria-busy="true">
      <Loader size="sm" />
    </Center>
  )
}

/** Shows an API error in place. */
export function ProblemAlert({ error }: { error: unknown }) {
  const { t } = useTranslation()
  if (!error) return null
  const id = error instanceof ParleyError ? error.problem.request_id : null
  return (
    <Alert color="red" variant="light" role="alert" title={problemText(t, error)}>
      {id && (
        <Text size="xs" c="dimmed">
          {t('problem.request', { id })}
        </Text>
      )}
    </Alert>
  )
}

interface Asked<T> {
  data: T | undefined
  error: unknown
  isPending: boolean
  refetch(): unknown
}

/** Renders `children` with the data of a query, or its loading or error state. */
export function Answered<T>({ of, children }: { of: Asked<T>; children: (data: T) => ReactNode }) {
  const { t } = useTranslation()
  if (of.data !== undefined) return children(of.data)
  if (of.isPending) return <Waiting />
  return (
    <Stack align="flex-start">
      <ProblemAlert error={of.error} />
      <Button variant="default" onClick={() => of.refetch()}>
        {t('again')}
      </Button>
    </Stack>
  )
}

export function Empty({ title, hint, children }: { title: string; hint?: string; children?: ReactNode }) {
  return (
    <Stack align="center" gap="xs" py="xl" ta="center">
      <Text fw={600}>{title}</Text>
      {hint && (
        <Text c="dimmed" maw={480}>
          {hint}
        </Text>
      )}
      {children}
    </Stack>
  )
}

/** The router's error boundary, for pages that failed to load or to render. */
export function Broken() {
  const { t } = useTranslation()
  const error = useRouteError()
  console.error(error)
  return (
    <Center mih="60vh" p="md">
      <Stack align="center" role="alert">
        <Title order={1} size="h3">
          {t('broken')}
        </Title>
        <Button onClick={() => window.location.reload()}>{t('again')}</Button>
      </Stack>
    </Center>
  )
}
