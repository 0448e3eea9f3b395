import { Anchor, Button, Stack, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { Link } from 'react-router'
import { api } from '../api/client.ts'
import { must, queryClient } from '../api/queries.ts'
import { Confirm } from '../ui/confirm.tsx'
import { notify } from '../ui/notify.ts'
import { type CallDetail, callQuery } from './queries.ts'

/** Erases the personal data of the call; the call itself stays in the list. */
export function EraseCall({ call }: { call: CallDetail }) {
  const { t } = useTranslation('calls')
  const { t: common } = useTranslation()
  const phone = call.direction === 'out' ? call.to : call.from
  const erase = async () => {
    await must(api.DELETE('/v1/public/calls/{call_id}', { params: { path: { call_id: call.id } } }))
    const { queryKey } = callQuery(call.id)
    await queryClient.invalidateQueries({ queryKey, exact: true })
    // Remove cached traces and recordings, whose keys are below the call's key.
    queryClient.removeQueries({ queryKey, predicate: below => below.queryKey.length > queryKey.length })
    queryClient.removeQueries({ queryKey: ['calls'], type: 'inactive' })
    notify(t('erase.done'))
  }
  return (
    <Confirm
      trigger={open => (
        <Button variant="subtle" color="red" size="compact-sm" onClick={open}>
          {t('erase.do')}
        </Button>
      )}
      title={t('erase.title')}
      action={t('erase.do')}
      onConfirm={erase}
    >
      <Stack gap="xs">
        <Text>{t('erase.text')}</Text>
        {phone.startsWith('+') && (
          <Anchor component={Link} to="/data/forget" state={{ phone }} size="sm">
            {common('forgetPerson')}
          </Anchor>
        )}
      </Stack>
    </Confirm>
  )
}
