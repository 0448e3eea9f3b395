import { Accordion, List, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { CopyBlock } from '../ui/copy.tsx'
import { verifiers } from './snippets.ts'

const languages = { node: 'Node.js', python: 'Python' } as const
const rules = ['raw', 'id', 'answer', 'retries', 'also'] as const

/** Instructions for verifying the signature of a delivery. */
export function Verify() {
  const { t } = useTranslation('access')
  return (
    <Accordion variant="contained" order={2}>
      <Accordion.Item value="rules">
        <Accordion.Control>{t('verify.rulesTitle')}</Accordion.Control>
        <Accordion.Panel>
          <List size="sm" spacing={4}>
            {rules.map(rule => (
              <List.Item key={rule}>{t(`verify.rules.${rule}`)}</List.Item>
            ))}
          </List>
        </Accordion.Panel>
      </Accordion.Item>
      {(['node', 'python'] as const).map(language => (
        <Accordion.Item key={language} value={language}>
          <Accordion.Control>{t('verify.title', { language: languages[language] })}</Accordion.Control>
          <Accordion.Panel>
            <Text size="sm" mb="xs">
              {t('verify.lead')}
            </Text>
            <CopyBlock value={verifiers[language]} label={t('verify.code', { language: languages[language] })} />
          </Accordion.Panel>
        </Accordion.Item>
      ))}
    </Accordion>
  )
}
