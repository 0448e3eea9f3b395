import { Stack, TextInput, type TextInputProps } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { FormEnd } from '../ui/form-end.tsx'
import { Password } from '../ui/password.tsx'
import { secondFactorQuery } from './queries.ts'

export interface Proof {
  password: string
  code?: string
}

interface ProofFormProps {
  submit: string
  onProof: (proof: Proof) => Promise<unknown>
  onCancel: () => void
}

/** Asks for the password and, when the person has a second factor, for a code. */
export function ProofForm({ submit, onProof, onCancel }: ProofFormProps) {
  const { t } = useTranslation('account')
  const form = useForm({ mode: 'uncontrolled', initialValues: { password: '', code: '' } })
  const prove = useMutation({
    mutationFn: ({ password, code }: { password: string; code: string }) =>
      onProof({ password, ...(code.trim() === '' ? {} : { code: code.trim() }) }),
    // Do not cache what is shown only once.
    gcTime: 0,
  })
  return (
    <form onSubmit={form.onSubmit(values => prove.mutate(values))}>
      <Stack>
        <Password
          required
          data-autofocus
          autoComplete="current-password"
          label={t('account.current')}
          {...form.getInputProps('password')}
        />
        <CodeInput {...form.getInputProps('code')} />
        <FormEnd submit={submit} error={prove.error} busy={prove.isPending} onCancel={onCancel} />
      </Stack>
    </form>
  )
}

/** Nothing for a person without a second factor. */
export function CodeInput(props: TextInputProps) {
  const { t } = useTranslation('account')
  const { data } = useQuery(secondFactorQuery)
  if (!data || !(data.totp || data.passkeys.length > 0)) return null
  return (
    <TextInput autoComplete="one-time-code" label={t('second.code')} description={t('second.codeHint')} {...props} />
  )
}
