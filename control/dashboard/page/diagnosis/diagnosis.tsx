/** Shows the diagnosis of a failed call or of trunk diagnostics. */
import { Alert, Stack, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import type { Schemas } from '../api/types.ts'
import { spoken } from '../words/words.ts'

/** These codes do not indicate a problem with the trunk. */
const harmless = new Set<string>(['busy', 'no_answer', 'declined', 'canceled'])

/**
 * English shows the server's text, which names addresses and quotes the carrier. Other languages show a translation of
 * the code, with the server's text below.
 */
export function DiagnosisAlert({ diagnosis }: { diagnosis: Schemas['Diagnosis'] }) {
  const { t } = useTranslation('diagnosis')
  const { code, message, advice } = diagnosis
  return (
    <Alert color={harmless.has(code) ? 'gray' : 'red'} variant="light" title={t(`message.${code}`, { message })}>
      <Stack gap={4}>
        {advice !== null && <Text size="sm">{t(`advice.${code}`, { advice })}</Text>}
        {spoken() !== 'en' && (
          <Text size="xs" c="dimmed" component="div">
            {t('original')}:{' '}
            <span lang="en">
              {message} {advice}
            </span>
          </Text>
        )}
      </Stack>
    </Alert>
  )
}
