import { Alert, SimpleGrid, Stack } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { Conversation } from './conversation.tsx'
import { Facts } from './facts.tsx'
import { Latency } from './latency.tsx'
import { Outcome } from './outcome.tsx'
import type { CallDetail } from './queries.ts'
import { Result } from './result.tsx'
import { Sip } from './sip.tsx'

export function EndedCall({ call }: { call: CallDetail }) {
  const { t } = useTranslation('calls')
  const answered = call.answered_at !== null
  return (
    <Stack gap="lg">
      <Outcome call={call} />
      {call.missing_vars.length > 0 && (
        <Alert color="gray" variant="light">
          {t('page.missingVars', { names: call.missing_vars.join(', ') })}
        </Alert>
      )}
      <SimpleGrid cols={{ base: 1, md: answered ? 2 : 1 }}>
        <Facts call={call} />
        {answered && <Result call={call} />}
      </SimpleGrid>
      {answered && <Conversation call={call} />}
      {call.latency.turns.length > 0 && <Latency call={call} />}
      <Sip call={call} />
    </Stack>
  )
}
