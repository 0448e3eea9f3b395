/** Binds and unbinds the numbers of a project. Changes take effect at once. */
import { Anchor, Button, Group, Select, SimpleGrid, Text } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { Link } from 'react-router'
import { api } from '../api/client.ts'
import { must, numbersQuery, projectsQuery, queryClient } from '../api/queries.ts'
import type { Schemas } from '../api/types.ts'
import { Confirm } from '../ui/confirm.tsx'
import { Section } from '../ui/section.tsx'
import { Answered, Empty, ProblemAlert } from '../ui/states.tsx'
import { DataTable } from '../ui/table.tsx'
import { useEditing } from './form.ts'

type PhoneNumber = Schemas['Number']
type Direction = PhoneNumber['bindings'][number]['direction']

const DIRECTIONS = ['both', 'in', 'out'] as const
const afterwards = () => queryClient.invalidateQueries({ queryKey: numbersQuery.queryKey })

export default function NumbersTab() {
  const { t } = useTranslation('projects')
  const numbers = useQuery(numbersQuery)
  return (
    <Section title={t('tabs.numbers')} hint={t('numbers.hint')}>
      <Answered of={numbers}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty title={t('numbers.none')}>
              <ToTrunks />
            </Empty>
          ) : (
            <>
              <BoundNumbers numbers={items} />
              <BindForm numbers={items} />
              <Text size="sm">
                <ToTrunks />
              </Text>
            </>
          )
        }
      </Answered>
    </Section>
  )
}

function ToTrunks() {
  const { t } = useTranslation('projects')
  return (
    <Anchor component={Link} to="/trunks">
      {t('numbers.toTrunks')}
    </Anchor>
  )
}

function BoundNumbers({ numbers }: { numbers: PhoneNumber[] }) {
  const { t } = useTranslation('projects')
  const { t: common } = useTranslation()
  const { saved } = useEditing()
  const bound = numbers.flatMap(one => {
    const binding = one.bindings.find(({ project_id }) => project_id === saved.id)
    return binding ? [{ ...one, direction: binding.direction }] : []
  })
  return (
    <DataTable
      label={t('numbers.bound')}
      minWidth={480}
      items={bound}
      rowKey={({ number }) => number}
      empty={t('numbers.noneBound')}
      columns={[
        { key: 'number', header: t('numbers.number'), cell: ({ number }) => number },
        { key: 'trunk', header: t('numbers.trunk'), cell: ({ trunk_name }) => trunk_name },
        {
          key: 'direction',
          header: t('numbers.direction'),
          cell: ({ direction }) => t(`numbers.directions.${direction}`),
        },
        {
          key: 'actions',
          header: common('actions'),
          align: 'right',
          cell: ({ number, direction }) => <Unbind projectId={saved.id} number={number} bound={direction} />,
        },
      ]}
    />
  )
}

function Unbind({ projectId, number, bound }: { projectId: string; number: string; bound: Direction }) {
  const { t } = useTranslation('projects')
  const unbind = async (direction: Direction) => {
    const params = { path: { project_id: projectId, number }, query: { direction } }
    await must(api.DELETE('/v1/public/projects/{project_id}/numbers/{number}', { params }))
    await afterwards()
  }
  /** If the direction covers the whole binding, the label is just "Unbind". */
  const word = (direction: Direction) => t(`numbers.unbind.${direction === bound ? 'both' : direction}`)
  const ways = bound === 'both' ? DIRECTIONS : ([bound] as const)
  return (
    <Group gap={4} justify="flex-end">
      {ways.map(direction => (
        <Confirm
          key={direction}
          trigger={open => (
            <Button
              size="compact-sm"
              variant={direction === bound ? 'default' : 'subtle'}
              onClick={open}
              aria-label={`${word(direction)}: ${number}`}
            >
              {word(direction)}
            </Button>
          )}
          title={t('numbers.unbindTitle', { number })}
          action={t('numbers.unbind.both')}
          onConfirm={() => unbind(direction)}
        >
          <Text>{t(`numbers.unbindText.${direction}`)}</Text>
        </Confirm>
      ))}
    </Group>
  )
}

function BindForm({ numbers }: { numbers: PhoneNumber[] }) {
  const { t } = useTranslation('projects')
  const { saved } = useEditing()
  const { data: projects } = useQuery(projectsQuery)
  const form = useForm<{ number: string; direction: Direction }>({
    initialValues: { number: '', direction: 'both' },
    validate: { number: value => (value ? null : t('faults.required')) },
  })
  const bind = useMutation({
    mutationFn: (body: { number: string; direction: Direction }) =>
      must(api.POST('/v1/public/projects/{project_id}/numbers', { params: { path: { project_id: saved.id } }, body })),
    async onSuccess() {
      form.reset()
      await afterwards()
    },
  })
  const nameOf = (id: string) => projects?.find(one => one.id === id)?.name ?? t('numbers.otherProject')
  const others = ({ bindings }: PhoneNumber) => bindings.filter(({ project_id }) => project_id !== saved.id)
  const choices = numbers
    .filter(({ bindings }) => !bindings.some(one => one.project_id === saved.id && one.direction === 'both'))
    .map(one => {
      const taken = others(one).map(({ project_id, direction }) => {
        return `${nameOf(project_id)}: ${t(`numbers.directions.${direction}`)}`
      })
      return { value: one.number, label: [one.number, one.trunk_name, ...taken].join(' · ') }
    })
  return (
    <form noValidate onSubmit={form.onSubmit(values => bind.mutate(values))}>
      <SimpleGrid cols={{ base: 1, sm: 3 }} style={{ alignItems: 'end' }} mb="xs">
        <Select
          searchable
          label={t('numbers.number')}
          placeholder={t('numbers.choose')}
          nothingFoundMessage={t('noneFound')}
          data={choices}
          {...form.getInputProps('number')}
          value={form.values.number || null}
          onChange={value => form.setFieldValue('number', value ?? '')}
        />
        <Select
          allowDeselect={false}
          label={t('numbers.direction')}
          data={DIRECTIONS.map(value => ({ value, label: t(`numbers.directions.${value}`) }))}
          {...form.getInputProps('direction')}
        />
        <Button type="submit" variant="default" loading={bind.isPending}>
          {t('numbers.bind')}
        </Button>
      </SimpleGrid>
      <ProblemAlert error={bind.error} />
    </form>
  )
}
