import { Anchor, Button, Paper, Stack, Text, Title } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { Link } from 'react-router'
import { api } from '../api/client.ts'
import { must } from '../api/queries.ts'
import { notify } from '../ui/notify.ts'
import { Page } from '../ui/page.tsx'
import { Password } from '../ui/password.tsx'
import { ProblemAlert } from '../ui/states.tsx'
import { Limits } from './limits.tsx'
import { isTooShort, NewPassword } from './new-password.tsx'
import { CodeInput } from './proof-form.tsx'
import { SecondFactor } from './second-factor.tsx'
import { Sessions } from './sessions.tsx'
import { Stopped } from './stopped.tsx'

export default function Account() {
  const { t } = useTranslation('account')
  return (
    <Page title={t('account.title')}>
      <Stopped />
      <Paper withBorder p="md" maw={480}>
        <Title order={2} size="h4">
          {t('limits.title')}
        </Title>
        <Text c="dimmed" size="sm" mb="sm">
          {t('limits.lead')}
        </Text>
        <Limits />
      </Paper>
      <Paper withBorder p="md" maw={480}>
        <Title order={2} size="h4" mb="sm">
          {t('account.change')}
        </Title>
        <ChangePassword />
      </Paper>
      <SecondFactor />
      <Sessions />
      <Text size="sm">
        <Anchor component={Link} to="/data/account" inherit>
          {t('account.delete')}
        </Anchor>
        . {t('account.deleteHint')}
      </Text>
    </Page>
  )
}

function ChangePassword() {
  const { t } = useTranslation('account')
  const form = useForm({
    mode: 'uncontrolled',
    initialValues: { current: '', new: '', code: '' },
    validate: { new: value => (isTooShort(value) ? t('passwordHint') : null) },
  })
  const change = useMutation({
    mutationFn: ({ code, ...body }: { current: string; new: string; code: string }) =>
      must(api.POST('/auth/password', { body: { ...body, ...(code.trim() === '' ? {} : { code: code.trim() }) } })),
    onSuccess() {
      form.reset()
      notify(t('account.changed'))
    },
  })
  return (
    <form onSubmit={form.onSubmit(values => change.mutate(values))}>
      <Stack>
        <Password
          required
          autoComplete="current-password"
          label={t('account.current')}
          {...form.getInputProps('current')}
        />
        <NewPassword label={t('reset.newPassword')} {...form.getInputProps('new')} />
        <CodeInput {...form.getInputProps('code')} />
        <ProblemAlert error={change.error} />
        <Button type="submit" loading={change.isPending} style={{ alignSelf: 'flex-start' }}>
          {t('account.change')}
        </Button>
      </Stack>
    </form>
  )
}
