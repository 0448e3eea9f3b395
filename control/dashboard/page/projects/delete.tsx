import { Button, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { useNavigate } from 'react-router'
import { api } from '../api/client.ts'
import { projectQuery } from '../api/projects.ts'
import { must, numbersQuery, projectsQuery, queryClient } from '../api/queries.ts'
import { Confirm } from '../ui/confirm.tsx'
import { notify } from '../ui/notify.ts'
import type { Project } from './draft.ts'
import { GONE } from './leaving.tsx'

export function DeleteProject({ project }: { project: Project }) {
  const { t } = useTranslation('projects')
  const navigate = useNavigate()
  const remove = async () => {
    await must(api.DELETE('/v1/public/projects/{project_id}', { params: { path: { project_id: project.id } } }))
    await queryClient.invalidateQueries({ queryKey: projectsQuery.queryKey })
    queryClient.invalidateQueries({ queryKey: numbersQuery.queryKey })
    await navigate('/projects', { state: GONE })
    queryClient.removeQueries({ queryKey: projectQuery(project.id).queryKey })
    notify(t('delete.done', { name: project.name }))
  }
  return (
    <Confirm
      trigger={open => (
        <Button variant="subtle" color="red" onClick={open}>
          {t('delete.action')}
        </Button>
      )}
      title={t('delete.title', { name: project.name })}
      action={t('delete.action')}
      onConfirm={remove}
    >
      <Text>{t('delete.text')}</Text>
    </Confirm>
  )
}
