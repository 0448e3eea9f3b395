/** A form that places an outgoing call and opens its page. */
import { Anchor, Button, NativeSelect, Stack, Text, TextInput } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { Link, useNavigate } from 'react-router'
import { api } from '../api/client.ts'
import { fieldErrors } from '../api/problems.ts'
import { must, projectsQuery, queryClient } from '../api/queries.ts'
import type { Schemas } from '../api/types.ts'
import { GivenFields, type GivenValues, givenBody } from '../conversation/given.tsx'
import { Refusal } from '../conversation/refusal.tsx'
import { namedOptions } from '../ui/options.ts'
import { Answered } from '../ui/states.tsx'

export function PlaceCall() {
  const { t } = useTranslation('live')
  const projects = useQuery(projectsQuery)
  return (
    <Answered of={projects}>
      {list =>
        list.length > 0 ? (
          <PlaceForm projects={list} />
        ) : (
          <Text>
            {t('place.noProjects')}{' '}
            <Anchor component={Link} to="/projects">
              {t('place.makeProject')}
            </Anchor>
          </Text>
        )
      }
    </Answered>
  )
}

export default PlaceCall

/** Removes separators: the API accepts only a plus and digits. */
const bare = (phone: string) => (/^[\s(]*\+/.test(phone) ? phone.replace(/[\s().-]/g, '') : phone.trim())

function PlaceForm({ projects }: { projects: Schemas['ProjectSummary'][] }) {
  const { t } = useTranslation('live')
  const { t: common } = useTranslation()
  const navigate = useNavigate()
  const [projectId, setProjectId] = useState(projects[0]!.id)
  const [phone, setPhone] = useState('')
  const [given, setGiven] = useState<GivenValues>({ task: '', vars: {} })
  const place = useMutation({
    mutationFn: () =>
      must(api.POST('/v1/public/calls', { body: { project_id: projectId, phone: bare(phone), ...givenBody(given) } })),
    onSuccess(call) {
      for (const key of ['calls', 'balance']) void queryClient.invalidateQueries({ queryKey: [key] })
      navigate(`/calls/${call.id}`)
    },
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    place.mutate()
  }
  const wrong = fieldErrors(common, place.error)
  return (
    <form onSubmit={submit}>
      <Stack>
        <NativeSelect
          label={t('place.project')}
          data={namedOptions(projects)}
          value={projectId}
          onChange={event => setProjectId(event.currentTarget.value)}
        />
        <TextInput
          type="text"
          inputMode="tel"
          autoComplete="off"
          required
          label={t('place.phone')}
          description={t('place.phoneHint')}
          value={phone}
          error={wrong['phone'] && t('place.phoneWrong')}
          onChange={event => setPhone(event.currentTarget.value)}
        />
        <GivenFields projectId={projectId} values={given} onChange={setGiven} taskLabel={t('place.task')} />
        <Refusal error={place.error} projectId={projectId} shown={['phone']} />
        <Button type="submit" loading={place.isPending}>
          {t('place.call')}
        </Button>
      </Stack>
    </form>
  )
}
