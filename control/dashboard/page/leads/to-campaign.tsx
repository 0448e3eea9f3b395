import { Button, NativeSelect, Stack, Text, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useNavigate } from 'react-router'
import { api } from '../api/client.ts'
import { fieldErrors } from '../api/problems.ts'
import { must, projectsQuery } from '../api/queries.ts'
import { Dialog } from '../ui/dialog.tsx'
import { FormEnd } from '../ui/form-end.tsx'
import type { Job } from './queries.ts'

/** Creates a campaign draft from the leads that have a phone number. No calls are made until the campaign starts. */
export function ToCampaign({ job }: { job: Job }) {
  const { t } = useTranslation('leads')
  const [opened, setOpened] = useState(false)
  if (job.progress.enriched === 0) return null
  return (
    <>
      <Button onClick={() => setOpened(true)}>{t('campaign.make')}</Button>
      <Dialog opened={opened} onClose={() => setOpened(false)} title={t('campaign.make')} centered>
        <CampaignForm job={job} onCancel={() => setOpened(false)} />
      </Dialog>
    </>
  )
}

interface Values {
  name: string
  project_id: string
}

function CampaignForm({ job: { id }, onCancel }: { job: Job; onCancel: () => void }) {
  const { t } = useTranslation('leads')
  const { t: common } = useTranslation()
  const navigate = useNavigate()
  const client = useQueryClient()
  const projects = useQuery(projectsQuery)
  const form = useForm<Values>({ initialValues: { name: '', project_id: '' } })
  const make = useMutation({
    mutationFn: ({ name, project_id }: Values) =>
      must(
        api.POST('/v1/public/lead-search/{job_id}/to-campaign', {
          params: { path: { job_id: id } },
          body: { ...(name.trim() ? { name } : {}), ...(project_id ? { project_id } : {}) },
        }),
      ),
    onSuccess(campaign) {
      client.invalidateQueries({ queryKey: ['leads', 'job', id] })
      client.invalidateQueries({ queryKey: ['campaigns'] })
      navigate(`/campaigns/${campaign.id}`)
    },
    onError: error => form.setErrors(fieldErrors(common, error)),
  })
  return (
    <form onSubmit={form.onSubmit(values => make.mutate(values))} noValidate>
      <Stack>
        <Text size="sm">{t('campaign.hint')}</Text>
        <NativeSelect
          label={t('campaign.project')}
          data={[
            { value: '', label: t('campaign.anyProject') },
            ...(projects.data ?? []).map(project => ({ value: project.id, label: project.name })),
          ]}
          {...form.getInputProps('project_id')}
        />
        <TextInput
          label={common('name')}
          placeholder={t('campaign.name')}
          maxLength={200}
          {...form.getInputProps('name')}
        />
        <FormEnd submit={t('campaign.make')} error={make.error} busy={make.isPending} onCancel={onCancel} />
      </Stack>
    </form>
  )
}
