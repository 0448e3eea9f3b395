/** Joins an account with the code of an invitation. */
import { Anchor, Button, Stack, Text, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { Link, useNavigate } from 'react-router'
import { api } from '../api/client.ts'
import { must, queryClient, sessionQuery } from '../api/queries.ts'
import { Password } from '../ui/password.tsx'
import { ProblemAlert } from '../ui/states.tsx'
import { Entrance } from './entrance.tsx'

/** The emailed link carries the code in the URL fragment. */
const codeOfLink = () => new URLSearchParams(window.location.hash.slice(1)).get('code') ?? ''

interface Values {
  token: string
  name: string
  password: string
}

export default function Invitation() {
  const { t } = useTranslation('account')
  const navigate = useNavigate()
  const form = useForm<Values>({
    mode: 'uncontrolled',
    initialValues: { token: codeOfLink(), name: '', password: '' },
    validate: { password: value => (value.length < 10 ? t('passwordHint') : null) },
  })
  const accept = useMutation({
    mutationFn: ({ token, name, password }: Values) =>
      must(
        api.POST('/auth/accept-invitation', {
          body: { token: token.trim(), password, ...(name.trim() === '' ? {} : { name: name.trim() }) },
        }),
      ),
    onSuccess(session) {
      queryClient.clear()
      queryClient.setQueryData(sessionQuery.queryKey, session)
      navigate('/')
    },
  })
  return (
    <Entrance title={t('invitation.title')} lead={t('invitation.lead')}>
      <form onSubmit={form.onSubmit(values => accept.mutate(values))}>
        <Stack>
          <TextInput
            required
            autoComplete="one-time-code"
            label={t('invitation.code')}
            {...form.getInputProps('token')}
          />
          <TextInput autoComplete="name" maxLength={100} label={t('invitation.name')} {...form.getInputProps('name')} />
          <Password
            required
            autoComplete="new-password"
            label={t('password')}
            description={t('passwordHint')}
            {...form.getInputProps('password')}
          />
          <ProblemAlert error={accept.error} />
          <Button type="submit" loading={accept.isPending}>
            {t('invitation.accept')}
          </Button>
        </Stack>
      </form>
      <Text size="sm">
        {t('haveAccount')}{' '}
        <Anchor component={Link} to="/log-in">
          {t('logIn')}
        </Anchor>
      </Text>
    </Entrance>
  )
}
