import { Stack } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { Section } from '../ui/section.tsx'
import { SchemaFields } from './schema-fields.tsx'
import { TextField } from './texts.tsx'

export default function GoalTab() {
  const { t } = useTranslation('projects')
  return (
    <Stack>
      <Section title={t('goal.title')} hint={t('goal.hint')}>
        <TextField path="goal" label={t('fields.goal')} hint={t('hints.goal')} />
      </Section>
      <Section title={t('goal.extraction')} hint={t('goal.extractionHint')}>
        <SchemaFields path="extraction" optional />
      </Section>
    </Stack>
  )
}
