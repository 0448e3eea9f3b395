import { Select, Stack, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { useNavigate } from 'react-router'
import { api } from '../api/client.ts'
import { fieldErrors } from '../api/problems.ts'
import { projectQuery } from '../api/projects.ts'
import { must, projectsQuery, queryClient } from '../api/queries.ts'
import { Dialog } from '../ui/dialog.tsx'
import { FormEnd } from '../ui/form-end.tsx'
import { spoken } from '../words/words.ts'
import { languageChoices } from './languages.ts'

export function NewProject({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  const { t } = useTranslation('projects')
  return (
    <Dialog opened={opened} onClose={onClose} title={t('new.title')} centered>
      <CreateForm onClose={onClose} />
    </Dialog>
  )
}

function CreateForm({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation('projects')
  const { t: common } = useTranslation()
  const navigate = useNavigate()
  const form = useForm({
    initialValues: { name: '', language: spoken() as string },
    validate: { name: name => (name.trim() === '' ? t('faults.required') : null) },
  })
  const create = useMutation({
    mutationFn: (body: { name: string; language: string }) => must(api.POST('/v1/public/projects', { body })),
    async onSuccess(project) {
      queryClient.setQueryData(projectQuery(project.id).queryKey, project)
      await queryClient.invalidateQueries({ queryKey: projectsQuery.queryKey })
      navigate(`/projects/${project.id}`)
    },
    onError: error => form.setErrors(fieldErrors(common, error)),
  })
  return (
    <form onSubmit={form.onSubmit(values => create.mutate(values))} noValidate>
      <Stack>
        <TextInput
          data-autofocus
          required
          maxLength={200}
          label={common('name')}
          description={t('new.nameHint')}
          {...form.getInputProps('name')}
        />
        <Select
          required
          searchable
          allowDeselect={false}
          label={t('fields.language')}
          description={t('hints.language')}
          data={languageChoices(form.values.language)}
          nothingFoundMessage={t('noneFound')}
          {...form.getInputProps('language')}
        />
        <FormEnd submit={t('new.create')} error={create.error} busy={create.isPending} onCancel={onClose} />
      </Stack>
    </form>
  )
}
