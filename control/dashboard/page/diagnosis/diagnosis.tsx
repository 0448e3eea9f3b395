/** What SIP messages show, in plain words: of a call that failed, and of a trunk that was examined. */
import { Alert, Stack, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import type { Schemas } from '../api/types.ts'
import { spoken } from '../words/words.ts'

/** From `busy` on nothing is wrong with the trunk. */
const harmless = new Set<string>(['busy', 'no_answer', 'declined', 'canceled'])

/**
 * English words come from the server, which names addresses and quotes the carrier; other languages have words for each
 * code, and the server's below them.
 */
export function DiagnosisAlert({ diagnosis }: { diagnosis: Schemas['Diagnosis'] }) {
  const { t } = useTranslation('diagnosis')
  const { code, words, advice } = diagnosis
  return (
    <Alert color={harmless.has(code) ? 'gray' : 'red'} variant="light" title={t(`words.${code}`, { words })}>
      <Stack gap={4}>
        {advice !== null && <Text size="sm">{t(`advice.${code}`, { advice })}</Text>}
        {spoken() !== 'en' && (
          <Text size="xs" c="dimmed" component="div">
            {t('original')}:{' '}
            <span lang="en">
              {words} {advice}
            </span>
          </Text>
        )}
      </Stack>
    </Alert>
  )
}
