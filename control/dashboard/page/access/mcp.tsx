import { Anchor, Group, List, Paper, Stack, Text, Title } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { Link } from 'react-router'
import { CopyBlock } from '../ui/copy.tsx'
import { here, mcpClients } from './snippets.ts'

const rules = ['scopes', 'dryRun', 'errors'] as const

export function Mcp() {
  const { t } = useTranslation('access')
  return (
    <Stack>
      <Text maw={720}>{t('mcp.lead')}</Text>
      <Paper withBorder p="md">
        <Stack gap="xs">
          <Title order={2} size="h4">
            {t('mcp.address')}
          </Title>
          <CopyBlock value={`${here()}/mcp`} label={t('mcp.address')} />
          <Text size="sm">{t('mcp.transport')}</Text>
          <List size="sm">
            {rules.map(rule => (
              <List.Item key={rule}>{t(`mcp.rules.${rule}`)}</List.Item>
            ))}
          </List>
          <Group>
            <Anchor component={Link} to="/access">
              {t('keys.create')}
            </Anchor>
            <Anchor href="/docs" target="_blank" rel="noopener noreferrer">
              {t('mcp.tools')}
            </Anchor>
            <Anchor href="/openapi.json" target="_blank" rel="noopener noreferrer">
              {t('reference.openapi')}
            </Anchor>
          </Group>
        </Stack>
      </Paper>
      <Paper withBorder p="md">
        <Stack>
          <Title order={2} size="h4">
            {t('mcp.clients')}
          </Title>
          <Text size="sm">{t('mcp.place')}</Text>
          {mcpClients().map(({ name, place, text }) => (
            <Stack gap={4} key={name}>
              <Title order={3} size="h5">
                {name}
              </Title>
              <Text size="sm" c="dimmed">
                {typeof place === 'string' ? t(`mcp.places.${place}`) : t('mcp.file', place)}
              </Text>
              <CopyBlock value={text} label={t('mcp.configuration', { name })} />
            </Stack>
          ))}
        </Stack>
      </Paper>
    </Stack>
  )
}
