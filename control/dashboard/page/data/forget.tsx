/** Erases a person's data by phone number, after listing what is deleted and what is kept. */
import { Button, List, Paper, Radio, SimpleGrid, Stack, Text, TextInput, Title } from '@mantine/core'
import { type UseFormReturnType, useForm } from '@mantine/form'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useLocation, useNavigate } from 'react-router'
import { api } from '../api/client.ts'
import { must, queryClient } from '../api/queries.ts'
import { Confirm } from '../ui/confirm.tsx'
import { readPhone } from '../ui/phone.ts'
import { useHomeRegion } from '../ui/region.ts'
import { Forgotten } from './forgotten.tsx'
import type { Erasure } from './queries.ts'

const choices = ['keep', 'add', 'forget'] as const
type Choice = (typeof choices)[number]

export function Forget() {
  const { t } = useTranslation('data')
  const [done, setDone] = useState<{ phone: string; erasure: Erasure } | null>(null)
  return (
    <Stack maw={860}>
      <Text>{t('forget.lead')}</Text>
      {done === null ? (
        <>
          <WhatGoes />
          <Ask onDone={setDone} />
        </>
      ) : (
        <Forgotten {...done} onMore={() => setDone(null)} />
      )}
    </Stack>
  )
}

const gone = ['contact', 'calls', 'campaigns', 'leads', 'copies'] as const
const left = ['money', 'texts', 'outside'] as const

function WhatGoes() {
  const { t } = useTranslation('data')
  return (
    <SimpleGrid cols={{ base: 1, sm: 2 }}>
      <Paper withBorder p="md">
        <Title order={2} size="h4" mb="xs">
          {t('forget.goes')}
        </Title>
        <List size="sm">
          {gone.map(one => (
            <List.Item key={one}>{t(`forget.gone.${one}`)}</List.Item>
          ))}
        </List>
      </Paper>
      <Paper withBorder p="md">
        <Title order={2} size="h4" mb="xs">
          {t('forget.stays')}
        </Title>
        <List size="sm">
          {left.map(one => (
            <List.Item key={one}>{t(`forget.left.${one}`)}</List.Item>
          ))}
        </List>
      </Paper>
    </SimpleGrid>
  )
}

/** A contact's page passes its number in the navigation state, because URLs are logged and shared. */
const phoneOf = (state: unknown): string => {
  const { phone } = (state ?? {}) as { phone?: unknown }
  return typeof phone === 'string' ? phone : ''
}

interface Values {
  phone: string
  list: Choice
}

function Ask({ onDone }: { onDone: (done: { phone: string; erasure: Erasure }) => void }) {
  const { t } = useTranslation('data')
  const navigate = useNavigate()
  const { state } = useLocation()
  const region = useHomeRegion(null)?.region ?? null
  const read = (text: string) => readPhone(text, region)
  const form = useForm<Values>({
    initialValues: { phone: phoneOf(state), list: 'keep' },
    validate: { phone: text => (read(text) === null ? t('forget.notNumber') : null) },
  })
  const [again, setAgain] = useState('')
  const phone = read(form.values.phone)
  const same = phone !== null && read(again) === phone
  const erase = async () => {
    if (phone === null) return
    const body = { phone, do_not_call: form.values.list }
    const erasure = await must(api.POST('/v1/public/erasure', { body }))
    // Clear cached data and the history entry, which may still name the person.
    queryClient.removeQueries({ type: 'inactive' })
    await navigate('/data/forget', { replace: true, state: null })
    onDone({ phone, erasure })
  }
  return (
    <Confirm
      trigger={ask => {
        const begin = () => {
          setAgain('')
          ask()
        }
        return <AskForm form={form} anyForm={region !== null} onSubmit={begin} />
      }}
      title={t('forget.sure', { phone })}
      action={t('forget.do')}
      onConfirm={erase}
      ready={same}
    >
      <Stack>
        <Text>{t('forget.sureHint')}</Text>
        <TextInput
          type="tel"
          autoComplete="off"
          data-autofocus
          label={t('forget.again')}
          value={again}
          error={again.length >= form.values.phone.length && !same ? t('forget.differs') : null}
          onChange={event => setAgain(event.currentTarget.value)}
        />
      </Stack>
    </Confirm>
  )
}

interface AskFormProps {
  form: UseFormReturnType<Values>
  /** Whether a number without a country code can be parsed. */
  anyForm: boolean
  onSubmit: () => void
}

function AskForm({ form, anyForm, onSubmit }: AskFormProps) {
  const { t } = useTranslation('data')
  return (
    <form onSubmit={form.onSubmit(onSubmit)} noValidate>
      <Stack align="flex-start">
        <TextInput
          type="tel"
          required
          w="100%"
          maw={420}
          autoComplete="off"
          label={t('forget.phone')}
          description={t(anyForm ? 'forget.phoneHome' : 'forget.phoneHint')}
          {...form.getInputProps('phone')}
        />
        <DoNotCallChoice value={form.values.list} onChange={list => form.setFieldValue('list', list)} />
        <Button type="submit" color="red">
          {t('forget.do')}
        </Button>
      </Stack>
    </form>
  )
}

function DoNotCallChoice({ value, onChange }: { value: Choice; onChange: (choice: Choice) => void }) {
  const { t } = useTranslation('data')
  return (
    <Radio.Group label={t('forget.list')} value={value} onChange={next => onChange(next as Choice)}>
      <Stack gap="xs" mt="xs">
        {choices.map(one => (
          <Radio
            key={one}
            value={one}
            label={t(`forget.choices.${one}`)}
            description={t(`forget.choiceHints.${one}`)}
          />
        ))}
      </Stack>
    </Radio.Group>
  )
}
