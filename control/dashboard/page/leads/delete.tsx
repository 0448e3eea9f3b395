import { Button, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { useNavigate } from 'react-router'
import { api } from '../api/client.ts'
import { must, queryClient } from '../api/queries.ts'
import { Confirm } from '../ui/confirm.tsx'
import { notify } from '../ui/notify.ts'
import { type Job, jobQuery, jobsQuery } from './queries.ts'

export function DeleteSearch({ job: { id } }: { job: Job }) {
  const { t } = useTranslation('leads')
  const { t: common } = useTranslation()
  const navigate = useNavigate()
  const remove = async () => {
    await must(api.DELETE('/v1/public/lead-search/{job_id}', { params: { path: { job_id: id } } }))
    await navigate('/leads')
    queryClient.removeQueries({ queryKey: jobQuery(id).queryKey })
    queryClient.removeQueries({ queryKey: ['leads', 'of', id] })
    void queryClient.invalidateQueries({ queryKey: jobsQuery.queryKey })
    notify(t('delete.done'))
  }
  return (
    <Confirm
      trigger={open => (
        <Button variant="subtle" color="red" onClick={open}>
          {common('delete')}
        </Button>
      )}
      title={t('delete.title')}
      action={common('delete')}
      onConfirm={remove}
    >
      <Text>{t('delete.text')}</Text>
    </Confirm>
  )
}
