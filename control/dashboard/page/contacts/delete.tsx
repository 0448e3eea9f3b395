import { Anchor, Button, Stack, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { Link, useNavigate } from 'react-router'
import { api } from '../api/client.ts'
import { must, queryClient } from '../api/queries.ts'
import { Confirm } from '../ui/confirm.tsx'
import { notify } from '../ui/notify.ts'
import type { Contact } from './queries.ts'

export function DeleteContact({ contact: { id, name, phone } }: { contact: Contact }) {
  const { t } = useTranslation('contacts')
  const { t: common } = useTranslation()
  const navigate = useNavigate()
  const remove = async () => {
    await must(api.DELETE('/v1/public/contacts/{contact_id}', { params: { path: { contact_id: id } } }))
    await navigate('/contacts')
    queryClient.removeQueries({ queryKey: ['contact', id] })
    queryClient.removeQueries({ queryKey: ['contacts', id] })
    void queryClient.invalidateQueries({ queryKey: ['contacts'] })
    void queryClient.invalidateQueries({ queryKey: ['calls'] })
    notify(t('delete.done'))
  }
  return (
    <Confirm
      trigger={open => (
        <Button variant="subtle" color="red" onClick={open}>
          {common('delete')}
        </Button>
      )}
      title={t('delete.title', { name: name ?? phone })}
      action={common('delete')}
      onConfirm={remove}
    >
      <Stack gap="xs">
        <Text>{t('delete.text')}</Text>
        <Anchor component={Link} to="/data/forget" state={{ phone }} size="sm">
          {common('forgetPerson')}
        </Anchor>
      </Stack>
    </Confirm>
  )
}
