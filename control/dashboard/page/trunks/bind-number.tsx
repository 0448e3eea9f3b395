import { Alert, Button, Group, Radio, Select, Stack, Text } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { api } from '../api/client.ts'
import { must, ParleyError, projectsQuery } from '../api/queries.ts'
import { Dialog } from '../ui/dialog.tsx'
import { notify } from '../ui/notify.ts'
import { namedOptions } from '../ui/options.ts'
import { ProblemAlert } from '../ui/states.tsx'
import { boundTo, type NumberItem, useProjectName, type Way } from './bindings.ts'
import { numbersChanged } from './queries.ts'

type Direction = Way | 'both'
const directions = ['both', 'in', 'out'] as const satisfies Direction[]
const waysOf = (direction: Direction): Way[] => (direction === 'both' ? ['in', 'out'] : [direction])

/** The directions that are not bound yet. */
function freeIn(item: NumberItem): Direction {
  const [incoming, outgoing] = [boundTo(item, 'in'), boundTo(item, 'out')]
  if (incoming === null && outgoing !== null) return 'in'
  return outgoing === null && incoming !== null ? 'out' : 'both'
}

export function BindNumber({ item, onClose }: { item: NumberItem; onClose: () => void }) {
  const { t } = useTranslation('trunks')
  const { t: common } = useTranslation()
  const projects = useQuery(projectsQuery)
  const [chosen, setChosen] = useState<string | null>(null)
  const [direction, setDirection] = useState<Direction>(() => freeIn(item))
  const project = chosen ?? (projects.data?.length === 1 ? projects.data[0]!.id : null)
  const bind = useMutation({
    mutationFn: (project_id: string) =>
      must(
        api.POST('/v1/public/projects/{project_id}/numbers', {
          params: { path: { project_id } },
          body: { number: item.number, direction },
        }),
      ),
    onSuccess() {
      notify(t('numbers.isBound', { number: item.number }))
      onClose()
    },
    // A conflict means that the displayed bindings are outdated.
    onSettled: numbersChanged,
  })
  const rivals = project === null ? [] : waysOf(direction).filter(way => ![null, project].includes(boundTo(item, way)))
  const refused = bind.error instanceof ParleyError && bind.error.code === 'number_bound'
  return (
    <Dialog opened onClose={onClose} title={t('numbers.bindTitle', { number: item.number })} centered>
      <Stack>
        <Select
          label={t('numbers.project')}
          placeholder={t('numbers.choose')}
          data={namedOptions(projects.data ?? [])}
          value={project}
          onChange={setChosen}
          allowDeselect={false}
          searchable
        />
        <Radio.Group label={t('numbers.direction')} value={direction} onChange={one => setDirection(one as Direction)}>
          <Stack gap="xs" mt="xs">
            {directions.map(one => (
              <Radio key={one} value={one} label={t(`directions.${one}`)} />
            ))}
          </Stack>
        </Radio.Group>
        <Taken item={item} ways={rivals} />
        {refused && rivals.length === 0 && <Alert color="red">{t('numbers.takenMeanwhile')}</Alert>}
        {!refused && <ProblemAlert error={bind.error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            {common('cancel')}
          </Button>
          <Button
            disabled={project === null || rivals.length > 0}
            loading={bind.isPending}
            onClick={() => project !== null && bind.mutate(project)}
          >
            {t('numbers.bind')}
          </Button>
        </Group>
      </Stack>
    </Dialog>
  )
}

/** Explains which project the number is bound to and what to do. */
function Taken({ item, ways }: { item: NumberItem; ways: Way[] }) {
  const { t } = useTranslation('trunks')
  const projectName = useProjectName()
  if (ways.length === 0) return null
  return (
    <Alert color="red" variant="light" role="alert" title={t('numbers.taken', { number: item.number })}>
      {ways.map(way => (
        <Text size="sm" key={way}>
          {t(`numbers.takenBy.${way}`, { project: projectName(boundTo(item, way)!) })}
        </Text>
      ))}
      <Text size="sm">{t('numbers.unbindFirst')}</Text>
    </Alert>
  )
}
