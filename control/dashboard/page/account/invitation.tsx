/** Joins an account with the code of an invitation. */
import { Button, Stack, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { useNavigate } from 'react-router'
import { api } from '../api/client.ts'
import { must, queryClient, sessionQuery } from '../api/queries.ts'
import { ProblemAlert } from '../ui/states.tsx'
import { codeOfLink, Entrance, HaveAccount } from './entrance.tsx'
import { isTooShort, NewPassword } from './new-password.tsx'

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
    validate: { password: value => (isTooShort(value) ? t('passwordHint') : null) },
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
          <NewPassword {...form.getInputProps('password')} />
          <ProblemAlert error={accept.error} />
          <Button type="submit" loading={accept.isPending}>
            {t('invitation.accept')}
          </Button>
        </Stack>
      </form>
      <HaveAccount />
    </Entrance>
  )
}
