import { Select, Stack, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { api } from '../api/client.ts'
import { fieldErrors } from '../api/problems.ts'
import { must, projectsQuery } from '../api/queries.ts'
import type { Schemas } from '../api/types.ts'
import { Dialog } from '../ui/dialog.tsx'
import { FormEnd } from '../ui/form-end.tsx'
import { notify } from '../ui/notify.ts'
import { namedOptions } from '../ui/options.ts'
import { softphonesChanged } from './queries.ts'

interface SoftphoneFormProps {
  /** Null creates a softphone. */
  softphone: Schemas['Softphone'] | null
  onClose: () => void
  onMade: (made: Schemas['SoftphoneCreated']) => void
}

export function SoftphoneForm({ softphone, onClose, onMade }: SoftphoneFormProps) {
  const { t } = useTranslation('trunks')
  const { t: common } = useTranslation()
  const projects = useQuery(projectsQuery)
  const only = projects.data?.length === 1 ? projects.data[0]!.id : ''
  const needed = (value: string) => (value.trim() === '' ? t('problems.needed') : null)
  const form = useForm({
    initialValues: { name: softphone?.name ?? '', project_id: softphone?.project_id ?? only },
    validate: { name: needed, project_id: needed },
  })
  const save = useMutation({
    async mutationFn(values: { name: string; project_id: string }) {
      const body = { ...values, name: values.name.trim() }
      if (softphone === null) return onMade(await must(api.POST('/v1/public/softphones', { body })))
      const params = { path: { softphone_id: softphone.id } }
      await must(api.PATCH('/v1/public/softphones/{softphone_id}', { params, body }))
      notify(common('saved'))
      onClose()
    },
    onSuccess: softphonesChanged,
    onError: error => form.setErrors(fieldErrors(common, error)),
  })
  return (
    <Dialog
      opened
      onClose={onClose}
      title={softphone === null ? t('softphones.new') : t('softphones.edit', { name: softphone.name })}
      centered
    >
      <form noValidate onSubmit={form.onSubmit(values => save.mutate(values))}>
        <Stack>
          <TextInput
            label={common('name')}
            description={t('softphones.nameHint')}
            required
            maxLength={200}
            data-autofocus
            {...form.getInputProps('name')}
          />
          <Select
            label={t('softphones.project')}
            description={t('softphones.projectHint')}
            placeholder={t('numbers.choose')}
            data={namedOptions(projects.data ?? [])}
            allowDeselect={false}
            searchable
            required
            {...form.getInputProps('project_id')}
          />
          <FormEnd
            submit={softphone === null ? t('softphones.create') : common('save')}
            error={save.error}
            busy={save.isPending}
            onCancel={onClose}
          />
        </Stack>
      </form>
    </Dialog>
  )
}
