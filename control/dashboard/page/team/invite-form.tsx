import { NativeSelect, Stack } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { EmailInput } from '../account/email.tsx'
import { api } from '../api/client.ts'
import { fieldErrors } from '../api/problems.ts'
import { must, sessionQuery } from '../api/queries.ts'
import { Dialog } from '../ui/dialog.tsx'
import { FormEnd } from '../ui/form-end.tsx'
import { notify } from '../ui/notify.ts'
import { type Role, roles } from './queries.ts'

interface InviteFormProps {
  opened: boolean
  onClose: () => void
}

export function InviteForm(props: InviteFormProps) {
  const { t } = useTranslation('team')
  return (
    <Dialog opened={props.opened} onClose={props.onClose} title={t('invite.title')} centered>
      <Fields {...props} />
    </Dialog>
  )
}

function Fields({ onClose }: InviteFormProps) {
  const { t } = useTranslation('team')
  const { t: common } = useTranslation()
  const client = useQueryClient()
  const { data: session } = useQuery(sessionQuery)
  const form = useForm<{ email: string; role: Role }>({ initialValues: { email: '', role: 'developer' } })
  const invite = useMutation({
    mutationFn: (body: { email: string; role: Role }) => must(api.POST('/v1/public/invitations', { body })),
    onSuccess() {
      client.invalidateQueries({ queryKey: ['invitations'] })
      notify(t('invite.sent'))
      onClose()
    },
    onError: error => form.setErrors(fieldErrors(common, error)),
  })
  const choices = roles.filter(role => role !== 'owner' || session?.role === 'owner')
  return (
    <form onSubmit={form.onSubmit(values => invite.mutate(values))}>
      <Stack>
        <EmailInput data-autofocus {...form.getInputProps('email')} />
        <NativeSelect
          label={t('role')}
          description={t(`roles.${form.values.role}.text`)}
          data={choices.map(value => ({ value, label: t(`roles.${value}.name`) }))}
          {...form.getInputProps('role')}
        />
        <FormEnd submit={t('invite.send')} error={invite.error} busy={invite.isPending} onCancel={onClose} />
      </Stack>
    </form>
  )
}
