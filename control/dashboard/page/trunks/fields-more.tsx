/** The advanced trunk fields, grouped by topic. */
import { NumberInput, Select, SimpleGrid, Textarea, TextInput } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { spoken } from '../words/words.ts'
import { Codecs } from './codecs.tsx'
import type { FieldsProps } from './fields-basic.tsx'
import { Hosts } from './hosts.tsx'

export function LogInDetails({ form }: FieldsProps) {
  const { t } = useTranslation('trunks')
  const fields = ['from_user', 'from_domain', 'realm', 'outbound_proxy'] as const
  return (
    <SimpleGrid cols={{ base: 1, sm: 2 }}>
      {fields.map(field => (
        <TextInput
          key={field}
          label={t(`fields.${field}`)}
          description={t(`hints.${field}`)}
          spellCheck={false}
          autoCapitalize="none"
          autoComplete="off"
          maxLength={255}
          {...form.getInputProps(field)}
        />
      ))}
    </SimpleGrid>
  )
}

export function Servers({ form }: FieldsProps) {
  const { t } = useTranslation('trunks')
  return (
    <>
      <Hosts form={form} />
      <NumberInput
        label={t('fields.options_interval_seconds')}
        description={t('hints.options_interval_seconds')}
        min={10}
        max={3600}
        allowDecimal={false}
        maw={320}
        {...form.getInputProps('options_interval_seconds')}
      />
      <Textarea
        label={t('fields.allowed_ips')}
        description={t('hints.allowed_ips')}
        placeholder={'203.0.113.0/24\n198.51.100.7'}
        autosize
        minRows={2}
        maxRows={12}
        spellCheck={false}
        {...form.getInputProps('allowed_ips')}
      />
    </>
  )
}

export function Sound({ form }: FieldsProps) {
  const { t } = useTranslation('trunks')
  const readable = form.values.srtp !== 'off' && form.values.transport !== 'tls'
  return (
    <>
      <Codecs
        value={form.values.codecs}
        onChange={codecs => form.setFieldValue('codecs', codecs)}
        error={form.errors['codecs']}
      />
      <Select
        label={t('fields.srtp')}
        description={readable ? t('hints.srtpReadable') : t('hints.srtp')}
        data={(['off', 'optional', 'required'] as const).map(value => ({ value, label: t(`srtp.${value}`) }))}
        allowDeselect={false}
        {...form.getInputProps('srtp')}
      />
    </>
  )
}

export function Limits({ form }: FieldsProps) {
  const { t } = useTranslation('trunks')
  const limits = [
    ['max_calls', 100_000],
    ['max_cps', 1000],
  ] as const
  return (
    <SimpleGrid cols={{ base: 1, sm: 2 }}>
      {limits.map(([field, max]) => (
        <NumberInput
          key={field}
          label={t(`fields.${field}`)}
          description={t(`hints.${field}`)}
          placeholder={t('trunks.unlimited')}
          min={1}
          max={max}
          allowDecimal={false}
          {...form.getInputProps(field)}
        />
      ))}
    </SimpleGrid>
  )
}

/** Returns the name of a country code, or null if the code is unknown. */
function countryOf(code: string): string | null {
  if (!/^[A-Z]{2}$/.test(code)) return null
  const name = new Intl.DisplayNames(spoken(), { type: 'region', fallback: 'none' }).of(code)
  return name ?? null
}

export function Presentation({ form }: FieldsProps) {
  const { t } = useTranslation('trunks')
  const region = form.getInputProps('region')
  return (
    <SimpleGrid cols={{ base: 1, sm: 2 }}>
      <Select
        label={t('fields.number_format')}
        description={t('hints.number_format')}
        data={(['plus', 'national', 'digits'] as const).map(value => ({ value, label: t(`formats.${value}`) }))}
        allowDeselect={false}
        {...form.getInputProps('number_format')}
      />
      <TextInput
        label={t('fields.region')}
        description={countryOf(form.values.region) ?? t('hints.region')}
        placeholder="RU"
        maxLength={2}
        {...region}
        onChange={event => form.setFieldValue('region', event.currentTarget.value.toUpperCase())}
      />
      <Select
        label={t('fields.pai')}
        description={t('hints.pai')}
        data={(['never', 'always'] as const).map(value => ({ value, label: t(`pai.${value}`) }))}
        allowDeselect={false}
        {...form.getInputProps('pai')}
      />
      <Select
        label={t('fields.privacy')}
        description={t('hints.privacy')}
        data={(['none', 'id'] as const).map(value => ({ value, label: t(`privacy.${value}`) }))}
        allowDeselect={false}
        {...form.getInputProps('privacy')}
      />
    </SimpleGrid>
  )
}

export function Transfers({ form }: FieldsProps) {
  const { t } = useTranslation('trunks')
  return (
    <>
      <Select
        label={t('fields.transfer')}
        description={t(`hints.transfer.${form.values.transfer}`)}
        data={(['refer', 'bridge'] as const).map(value => ({ value, label: t(`transfer.${value}`) }))}
        allowDeselect={false}
        {...form.getInputProps('transfer')}
      />
      <TextInput
        label={t('fields.fallback_number')}
        description={t('hints.fallback_number')}
        placeholder="+14155550100"
        type="tel"
        {...form.getInputProps('fallback_number')}
      />
      <Textarea
        label={t('fields.refusal_announcement')}
        description={t('hints.refusal_announcement')}
        autosize
        minRows={2}
        maxLength={300}
        {...form.getInputProps('refusal_announcement')}
      />
      <TextInput
        label={t('fields.refusal_language')}
        description={t('hints.refusal_language')}
        maw={320}
        {...form.getInputProps('refusal_language')}
      />
    </>
  )
}
