import { Anchor, Checkbox, type CheckboxProps, Paper, Stack, Title } from '@mantine/core'
import { useTranslation } from 'react-i18next'

/** The lead search terms, accepted once per account. The server keeps the accepted version. */
export function Terms(props: CheckboxProps) {
  const { t } = useTranslation('leads')
  return (
    <Paper withBorder p="md">
      <Stack gap="xs">
        <Title order={2} size="h4">
          {t('terms.title')}
        </Title>
        <Anchor href="/terms/lead-search" target="_blank" rel="noopener noreferrer">
          {t('terms.read')}
        </Anchor>
        <Checkbox label={t('terms.accept')} {...props} />
      </Stack>
    </Paper>
  )
}
