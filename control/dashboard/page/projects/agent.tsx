import { NumberInput, Select, SimpleGrid, Stack, Switch, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { numbersQuery } from '../api/queries.ts'
import { Section } from '../ui/section.tsx'
import { useDraft, useEditing } from './form.ts'
import { languageChoices, timezones } from './languages.ts'
import { TextField } from './texts.tsx'

export function AgentTab() {
  const { t } = useTranslation('projects')
  return (
    <Stack>
      <Section title={t('agent.about')}>
        <About />
      </Section>
      <Section title={t('agent.says')}>
        <TextField
          path="prompt"
          label={t('fields.prompt')}
          hint={t('hints.prompt', { example: '{{name}}' })}
          minRows={8}
        />
        <TextField path="greeting" label={t('fields.greeting')} hint={t('hints.greeting')} />
        <TextField path="disclosure" label={t('fields.disclosure')} hint={t('hints.disclosure')} />
      </Section>
      <Section title={t('agent.calls')}>
        <Calls />
      </Section>
      <Section title={t('agent.records')}>
        <Records />
      </Section>
    </Stack>
  )
}

function About() {
  const { t } = useTranslation('projects')
  const { t: common } = useTranslation()
  const form = useDraft()
  return (
    <SimpleGrid cols={{ base: 1, sm: 3 }}>
      <TextInput required maxLength={200} label={common('name')} {...form.getInputProps('name')} />
      <Select
        searchable
        allowDeselect={false}
        label={t('fields.language')}
        data={languageChoices(form.values.language)}
        nothingFoundMessage={t('noneFound')}
        {...form.getInputProps('language')}
      />
      <Select
        searchable
        allowDeselect={false}
        limit={60}
        label={t('fields.timezone')}
        data={timezones(form.values.timezone)}
        nothingFoundMessage={t('noneFound')}
        {...form.getInputProps('timezone')}
      />
    </SimpleGrid>
  )
}

function Calls() {
  const { t } = useTranslation('projects')
  const form = useDraft()
  const { action } = form.values.voicemail
  return (
    <>
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        <NumberInput
          required
          min={10}
          max={7200}
          allowDecimal={false}
          suffix={t('seconds')}
          label={t('fields.max_call_seconds')}
          {...form.getInputProps('max_call_seconds')}
        />
        <NumberInput
          required
          min={5}
          max={180}
          allowDecimal={false}
          suffix={t('seconds')}
          label={t('fields.ring_timeout_seconds')}
          {...form.getInputProps('ring_timeout_seconds')}
        />
        <CallerId />
        <Select
          allowDeselect={false}
          label={t('fields.voicemail')}
          description={t('hints.voicemail')}
          data={(['hangup', 'leave_message', 'ignore'] as const).map(value => ({
            value,
            label: t(`voicemail.${value}`),
          }))}
          {...form.getInputProps('voicemail.action')}
        />
      </SimpleGrid>
      {action === 'leave_message' && (
        <TextField path="voicemail.text" label={t('fields.voicemail_text')} required maxLength={2000} />
      )}
    </>
  )
}

/**
 * Selects one of the numbers bound for outgoing calls. The current value stays in the list even if it is no longer
 * bound.
 */
function CallerId() {
  const { t } = useTranslation('projects')
  const form = useDraft()
  const { saved } = useEditing()
  const { data } = useQuery(numbersQuery)
  const bound = (data?.items ?? [])
    .filter(({ bindings }) => bindings.some(one => one.project_id === saved.id && one.direction !== 'in'))
    .map(({ number }) => number)
  const current = form.values.caller_id
  const lost = current !== '' && data !== undefined && !bound.includes(current)
  const all = current === '' || bound.includes(current) ? bound : [current, ...bound]
  return (
    <Select
      clearable
      clearButtonProps={{ 'aria-label': t('clear') }}
      label={t('fields.caller_id')}
      description={lost ? t('hints.callerLost') : t('hints.caller_id')}
      placeholder={t('caller.any')}
      data={all}
      {...form.getInputProps('caller_id')}
      value={current === '' ? null : current}
      onChange={value => form.setFieldValue('caller_id', value ?? '')}
    />
  )
}

function Records() {
  const { t } = useTranslation('projects')
  const form = useDraft()
  return (
    <>
      <Switch
        label={t('fields.recording')}
        description={t('hints.recording')}
        {...form.getInputProps('recording', { type: 'checkbox' })}
      />
      {form.values.recording && (
        <TextField
          path="recording_notice"
          label={t('fields.recording_notice')}
          hint={t('hints.recording_notice')}
          minRows={1}
        />
      )}
      <Switch
        label={t('fields.remember')}
        description={t('hints.remember')}
        {...form.getInputProps('remember', { type: 'checkbox' })}
      />
    </>
  )
}
