import { Button } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useRef } from 'react'
import { useTranslation } from 'react-i18next'
import { Link, useNavigate, useSearchParams } from 'react-router'
import { api } from '../api/client.ts'
import { must, projectsQuery, queryClient } from '../api/queries.ts'
import { notify } from '../ui/notify.ts'
import { Page } from '../ui/page.tsx'
import { Answered } from '../ui/states.tsx'
import { emptyValues, inputOf, type Values } from './params.ts'
import { projectQuery } from './queries.ts'
import { SettingsForm } from './settings-form.tsx'

export default function NewCampaign() {
  const { t } = useTranslation('campaigns')
  const projects = useQuery(projectsQuery)
  const [search] = useSearchParams()
  return (
    <Page title={t('new')}>
      <Answered of={projects}>
        {list => {
          // If there is only one project, preselect it.
          const wanted = search.get('project_id') ?? (list.length === 1 ? list[0]!.id : '')
          return list.some(({ id }) => id === wanted) ? <OfProject id={wanted} /> : <Create initial={emptyValues} />
        }}
      </Answered>
    </Page>
  )
}

function OfProject({ id }: { id: string }) {
  const project = useQuery(projectQuery(id))
  return (
    <Answered of={project}>
      {({ timezone }) => (
        <Create initial={{ ...emptyValues, project_id: id, params: { ...emptyValues.params, timezone } }} />
      )}
    </Answered>
  )
}

function Create({ initial }: { initial: Values }) {
  const { t } = useTranslation('campaigns')
  const { t: common } = useTranslation()
  const navigate = useNavigate()
  /** The time zone filled in automatically: that of the project. */
  const given = useRef(initial.params.timezone)
  const create = useMutation({
    async mutationFn(values: Values) {
      const { project_id = '', ...body } = inputOf(values, { fixed: false })
      return must(api.POST('/v1/public/campaigns', { body: { ...body, project_id } }))
    },
    onSuccess({ id }) {
      notify(t('form.created'))
      void queryClient.invalidateQueries({ queryKey: ['campaigns'] })
      navigate(`/campaigns/${id}`)
    },
  })
  return (
    <SettingsForm
      initial={initial}
      submitLabel={t('form.create')}
      onSubmit={values => create.mutateAsync(values)}
      error={create.error}
      busy={create.isPending}
      onProject={async (id, form) => {
        const { timezone } = await queryClient.ensureQueryData(projectQuery(id))
        // Keep a time zone that the user has chosen.
        const before = form.getValues().params.timezone
        if (before === given.current) form.setFieldValue('params.timezone', timezone)
        given.current = before === given.current ? timezone : given.current
      }}
    >
      <Button component={Link} to="/campaigns" variant="default">
        {common('cancel')}
      </Button>
    </SettingsForm>
  )
}
