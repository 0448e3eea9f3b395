import { Anchor, Button, Group, Stack, Text, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { Link, useLocation, useNavigate } from 'react-router'
import { api } from '../api/client.ts'
import { must, ParleyError, queryClient, sessionQuery } from '../api/queries.ts'
import { Notice } from '../ui/notice.tsx'
import { Password } from '../ui/password.tsx'
import { ProblemAlert } from '../ui/states.tsx'
import { EmailInput } from './email.tsx'
import { Entrance, wayBack } from './entrance.tsx'
import { canUsePasskeys, signWithPasskey } from './passkey.ts'

/** Set in the navigation state after the account was deleted. */
const isClosed = (state: unknown) => (state as { closed?: unknown } | null)?.closed === true

export default function LogIn() {
  const { t } = useTranslation('account')
  const navigate = useNavigate()
  const { search, state } = useLocation()
  const form = useForm({ mode: 'uncontrolled', initialValues: { email: '', password: '', code: '' } })
  const logIn = useMutation({
    mutationFn: async (given: { email: string; password: string; code: string } | 'passkey') => {
      if (given === 'passkey')
        return must(api.POST('/auth/log-in/passkey', { body: { response: await signWithPasskey() } }))
      const { code, ...body } = given
      return must(api.POST('/auth/log-in', { body: { ...body, ...(code.trim() === '' ? {} : { code: code.trim() }) } }))
    },
    onSuccess(session) {
      queryClient.clear()
      queryClient.setQueryData(sessionQuery.queryKey, session)
      navigate(wayBack(search))
    },
  })
  // The field stays when a code was wrong.
  const [needsCode, setNeedsCode] = useState(false)
  const asks = logIn.error instanceof ParleyError && logIn.error.code === 'second_factor_required'
  if (asks && !needsCode) setNeedsCode(true)
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
          {needsCode && (
            <TextInput
              required
              data-autofocus
              autoComplete="one-time-code"
              label={t('second.code')}
              description={t('second.codeHint')}
              {...form.getInputProps('code')}
            />
          )}
          <ProblemAlert error={logIn.error} />
          <Button type="submit" loading={logIn.isPending}>
            {t('logIn')}
          </Button>
          {canUsePasskeys() && (
            <Button variant="default" disabled={logIn.isPending} onClick={() => logIn.mutate('passkey')}>
              {t('second.usePasskey')}
            </Button>
          )}
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
