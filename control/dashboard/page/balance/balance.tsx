/** The balance page: available amount, spend by day and transactions. */
import { Badge, Group, Paper, SimpleGrid, Stack, Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { balanceQuery } from '../api/queries.ts'
import type { Schemas } from '../api/types.ts'
import { dateTime, money } from '../ui/format.ts'
import { Page } from '../ui/page.tsx'
import { Answered } from '../ui/states.tsx'
import { Entries } from './entries.tsx'
import { SpendSection } from './spend.tsx'

export default function Balance() {
  const { t } = useTranslation()
  // Refetch: the header's cached balance may be some seconds old and contradict the transactions below.
  const balance = useQuery({ ...balanceQuery, refetchOnMount: 'always' })
  return (
    <Page title={t('nav.balance')}>
      <Answered of={balance}>{found => <Standing balance={found} />}</Answered>
      <SpendSection />
      <Entries />
    </Page>
  )
}

function Standing({ balance }: { balance: Schemas['Balance'] }) {
  const { t } = useTranslation('balance')
  const { subscription } = balance
  const ends = subscription.ends_at
  return (
    <SimpleGrid cols={{ base: 1, xs: 2, md: 4 }}>
      <Fact name={t('available')} value={money(balance.balance)}>
        {t('availableHint')}
      </Fact>
      <Fact name={t('held')} value={money(balance.held)}>
        {t('heldHint')}
      </Fact>
      <Fact name={t('minutePrice')} value={money(balance.minute_price)}>
        {t('minuteHint')}
      </Fact>
      <Fact
        name={t('subscription')}
        value={
          <Badge size="lg" variant="dot" color={subscription.status === 'active' ? 'green' : 'red'} tt="none">
            {t(`subscriptions.${subscription.status}`)}
          </Badge>
        }
      >
        {ends === null ? t('endless') : t('until', { time: dateTime(ends) })}
      </Fact>
    </SimpleGrid>
  )
}

function Fact({ name, value, children }: { name: string; value: ReactNode; children: ReactNode }) {
  return (
    <Paper withBorder p="md">
      <Stack gap={4}>
        <Title order={2} size="sm">
          {name}
        </Title>
        <Group mih={34} fz="xl" fw={650}>
          {value}
        </Group>
        <Text size="sm" c="dimmed">
          {children}
        </Text>
      </Stack>
    </Paper>
  )
}
