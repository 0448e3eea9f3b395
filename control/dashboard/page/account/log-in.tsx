import { Anchor, Button, Group, Stack, Text } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { Link, useLocation, useNavigate } from 'react-router'
import { api } from '../api/client.ts'
import { must, queryClient, sessionQuery } from '../api/queries.ts'
import { Notice } from '../ui/notice.tsx'
import { Password } from '../ui/password.tsx'
import { ProblemAlert } from '../ui/states.tsx'
import { EmailInput } from './email.tsx'
import { Entrance, wayBack } from './entrance.tsx'

/** Set in the navigation state after the account was deleted. */
const isClosed = (state: unknown) => (state as { closed?: unknown } | null)?.closed === true

export default function LogIn() {
  const { t } = useTranslation('account')
  const navigate = useNavigate()
  const { search, state } = useLocation()
  const form = useForm({ mode: 'uncontrolled', initialValues: { email: '', password: '' } })
  const logIn = useMutation({
    mutationFn: (body: { email: string; password: string }) => must(api.POST('/auth/log-in', { body })),
    onSuccess(session) {
      queryClient.clear()
      queryClient.setQueryData(sessionQuery.queryKey, session)
      navigate(wayBack(search))
    },
  })
  return (
    <Entrance title={t('logIn')}>
      {isClosed(state) && (
        <Notice title={t('closed')} role="status">
          {t('closedHint')}
        </Notice>
      )}
      <form onSubmit={form.onSubmit(values => logIn.mutate(values))}>
        <Stack>
          <EmailInput {...form.getInputProps('email')} />
          <Password
            autoComplete="current-password"
            required
            label={t('password')}
            {...form.getInputProps('password')}
          />
          <ProblemAlert error={logIn.error} />
          <Button type="submit" loading={logIn.isPending}>
            {t('logIn')}
          </Button>
        </Stack>
      </form>
      <Group justify="space-between">
        <Text size="sm">
          {t('noAccount')}{' '}
          <Anchor component={Link} to="/sign-up">
            {t('signUp')}
          </Anchor>
        </Text>
        <Anchor component={Link} to="/password" size="sm">
          {t('forgot')}
        </Anchor>
      </Group>
    </Entrance>
  )
}
