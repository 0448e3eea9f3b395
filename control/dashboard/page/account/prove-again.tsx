/** Asks for the second factor again when a sensitive operation needs it. The person then repeats the operation. */
import { Anchor, Button, Stack, Text, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { Link } from 'react-router'
import { api } from '../api/client.ts'
import { must } from '../api/queries.ts'
import { Dialog } from '../ui/dialog.tsx'
import { FormEnd } from '../ui/form-end.tsx'
import { notify } from '../ui/notify.ts'
import { canUsePasskeys, signWithPasskey } from './passkey.ts'
import { secondFactorQuery } from './queries.ts'

export default function ProveAgain({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation('account')
  const { data } = useQuery(secondFactorQuery)
  const has = data && (data.totp || data.passkeys.length > 0)
  return (
    <Dialog opened onClose={onClose} title={t('prove.title')} centered>
      {data && !has && (
        <Text>
          {t('prove.none')}{' '}
          <Anchor component={Link} to="/account" onClick={onClose}>
            {t('prove.setUp')}
          </Anchor>
        </Text>
      )}
      {data && has && <Prove hasPasskey={data.passkeys.length > 0} onClose={onClose} />}
    </Dialog>
  )
}

function Prove({ hasPasskey, onClose }: { hasPasskey: boolean; onClose: () => void }) {
  const { t } = useTranslation('account')
  const client = useQueryClient()
  const form = useForm({ mode: 'uncontrolled', initialValues: { code: '' } })
  const done = () => {
    client.invalidateQueries({ queryKey: ['second-factor'] })
    notify(t('prove.done'))
    onClose()
  }
  const prove = useMutation({
    mutationFn: async (code: string | null) => {
      const body = code === null ? { response: await signWithPasskey() } : { code }
      return must(api.POST('/v1/public/second-factor/verify', { body }))
    },
    onSuccess: done,
  })
  return (
    <form onSubmit={form.onSubmit(({ code }) => prove.mutate(code))}>
      <Stack>
        <Text size="sm">{t('prove.lead')}</Text>
        <TextInput
          required
          data-autofocus
          autoComplete="one-time-code"
          label={t('second.code')}
          description={t('second.codeHint')}
          {...form.getInputProps('code')}
        />
        {hasPasskey && canUsePasskeys() && (
          <Button variant="default" onClick={() => prove.mutate(null)}>
            {t('second.usePasskey')}
          </Button>
        )}
        <FormEnd submit={t('prove.do')} error={prove.error} busy={prove.isPending} onCancel={onClose} />
      </Stack>
    </form>
  )
}
