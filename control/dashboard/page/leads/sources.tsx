import { Alert, List, Paper, Stack, Text, Title } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { oneOf } from '../ui/search-state.ts'
import type { Parsed } from './queries.ts'

type Source = Parsed['sources'][number]

const known = ['openstreetmap', 'directory', 'web'] as const

/** The available lead sources and the attribution that their licenses require. */
export function Sources({ sources }: { sources: Source[] }) {
  const { t } = useTranslation('leads')
  const nameOf = useSourceName()
  return (
    <Paper withBorder p="md">
      <Stack gap="xs">
        <Title order={2} size="h4">
          {t('sources.title')}
        </Title>
        {sources.length === 0 ? (
          <Alert color="orange" variant="outline">
            {t('sources.none')}
          </Alert>
        ) : (
          <List>
            {sources.map(({ id, name, attribution, licence }) => (
              <List.Item key={id}>
                {nameOf(id, name)}
                <Text span size="sm" c="dimmed">
                  {attribution && ` · ${attribution}`}
                  {licence && ` · ${t('sources.licence', { licence })}`}
                </Text>
              </List.Item>
            ))}
          </List>
        )}
      </Stack>
    </Paper>
  )
}

/** Translates known source names; other sources show their own name. */
export function useSourceName(): (id: string, name?: string) => string {
  const { t } = useTranslation('leads')
  return (id, name = id) => {
    const one = oneOf(id, known)
    return one ? t(`sources.names.${one}`) : name
  }
}
