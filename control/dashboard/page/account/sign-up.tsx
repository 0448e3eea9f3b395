import { Button, Stack, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { useNavigate } from 'react-router'
import { api } from '../api/client.ts'
import { fieldErrors } from '../api/problems.ts'
import { must, queryClient, sessionQuery } from '../api/queries.ts'
import { ProblemAlert } from '../ui/states.tsx'
import { EmailInput } from './email.tsx'
import { Entrance, HaveAccount } from './entrance.tsx'
import { isTooShort, NewPassword } from './new-password.tsx'

interface Values {
  email: string
  password: string
  name: string
}

export default function SignUp() {
  const { t } = useTranslation('account')
  const { t: common } = useTranslation()
  const navigate = useNavigate()
  const form = useForm<Values>({
    mode: 'uncontrolled',
    initialValues: { email: '', password: '', name: '' },
    validate: { password: value => (isTooShort(value) ? t('passwordHint') : null) },
  })
  const signUp = useMutation({
    mutationFn: ({ name, ...values }: Values) =>
      must(api.POST('/auth/sign-up', { body: name.trim() ? { ...values, name } : values })),
    onSuccess(session) {
      queryClient.clear()
      queryClient.setQueryData(sessionQuery.queryKey, session)
      navigate('/')
    },
    onError: error => form.setErrors(fieldErrors(common, error)),
  })
  return (
    <Entrance title={t('signUp')} lead={t('signUpLead')}>
      <form onSubmit={form.onSubmit(values => signUp.mutate(values))}>
        <Stack>
          <EmailInput {...form.getInputProps('email')} />
          <NewPassword {...form.getInputProps('password')} />
          <TextInput
            autoComplete="organization"
            label={t('yourName')}
            description={common('optional')}
            maxLength={100}
            {...form.getInputProps('name')}
          />
          <ProblemAlert error={signUp.error} />
          <Button type="submit" loading={signUp.isPending}>
            {t('signUp')}
          </Button>
        </Stack>
      </form>
      <HaveAccount />
    </Entrance>
  )
}
