/** Password reset: an emailed code, then a new password. */
import { Anchor, Button, Stack, Text, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { Link } from 'react-router'
import { api } from '../api/client.ts'
import { must } from '../api/queries.ts'
import { ProblemAlert } from '../ui/states.tsx'
import { EmailInput } from './email.tsx'
import { codeOfLink, Entrance } from './entrance.tsx'
import { isTooShort, NewPassword } from './new-password.tsx'

export default function Reset() {
  const { t } = useTranslation('account')
  const [step, setStep] = useState<'ask' | 'set' | 'done'>(codeOfLink() ? 'set' : 'ask')
  return (
    <Entrance title={t('reset.title')}>
      {step === 'ask' && <Ask onDone={() => setStep('set')} />}
      {step === 'set' && <SetPassword onDone={() => setStep('done')} />}
      {step === 'done' && <Text role="status">{t('reset.done')}</Text>}
      <Anchor component={Link} to="/log-in" size="sm">
        {t('reset.toLogIn')}
      </Anchor>
    </Entrance>
  )
}

function Ask({ onDone }: { onDone: () => void }) {
  const { t } = useTranslation('account')
  const form = useForm({ mode: 'uncontrolled', initialValues: { email: '' } })
  const ask = useMutation({
    mutationFn: (body: { email: string }) => must(api.POST('/auth/password-reset', { body })),
    onSuccess: onDone,
  })
  return (
    <form onSubmit={form.onSubmit(values => ask.mutate(values))}>
      <Stack>
        <EmailInput description={t('reset.askHint')} {...form.getInputProps('email')} />
        <ProblemAlert error={ask.error} />
        <Button type="submit" loading={ask.isPending}>
          {t('reset.ask')}
        </Button>
        <Button variant="subtle" onClick={onDone}>
          {t('reset.haveCode')}
        </Button>
      </Stack>
    </form>
  )
}

function SetPassword({ onDone }: { onDone: () => void }) {
  const { t } = useTranslation('account')
  const form = useForm({
    mode: 'uncontrolled',
    initialValues: { token: codeOfLink(), password: '' },
    transformValues: ({ token, password }) => ({ token: token.trim(), password }),
    validate: { password: value => (isTooShort(value) ? t('passwordHint') : null) },
  })
  const set = useMutation({
    mutationFn: (body: { token: string; password: string }) => must(api.POST('/auth/password-reset/confirm', { body })),
    onSuccess: onDone,
  })
  return (
    <form onSubmit={form.onSubmit(values => set.mutate(values))}>
      <Stack>
        <Text size="sm">{t('reset.sent')}</Text>
        <TextInput required autoComplete="one-time-code" label={t('reset.code')} {...form.getInputProps('token')} />
        <NewPassword label={t('reset.newPassword')} {...form.getInputProps('password')} />
        <ProblemAlert error={set.error} />
        <Button type="submit" loading={set.isPending}>
          {t('reset.set')}
        </Button>
      </Stack>
    </form>
  )
}
