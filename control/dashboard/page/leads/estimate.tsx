import { Alert, Paper, Stack, Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { balanceQuery } from '../api/queries.ts'
import type { Schemas } from '../api/types.ts'
import { money } from '../ui/format.ts'
import { covers, times } from './money.ts'

/** The maximum cost of the search, and whether the balance covers it. */
export function Estimate({ price, leads }: { price: Schemas['Money']; leads: number }) {
  const { t } = useTranslation('leads')
  const { data } = useQuery(balanceQuery)
  const total = times(price, leads)
  return (
    <Paper withBorder p="md">
      <Stack gap="xs">
        <Title order={2} size="h4">
          {t('estimate.title')}
        </Title>
        <Text aria-live="polite">{t('estimate.sum', { count: leads, price: money(price), total: money(total) })}</Text>
        <Text size="sm" c="dimmed">
          {t('estimate.hint')}
          {data && ` ${t('estimate.balance', { amount: money(data.balance) })}`}
        </Text>
        {data && !covers(data.balance, total) && (
          <Alert color="orange" variant="outline" role="status">
            {t('estimate.tooDear')}
          </Alert>
        )}
      </Stack>
    </Paper>
  )
}
