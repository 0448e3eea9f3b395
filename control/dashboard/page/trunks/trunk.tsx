/** The page of one trunk: status, diagnostics and settings. */
import { Button, Group, Paper, Stack, Table, Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useEffect } from 'react'
import { useTranslation } from 'react-i18next'
import { useNavigate, useParams, useSearchParams } from 'react-router'
import { api } from '../api/client.ts'
import { must, queryClient } from '../api/queries.ts'
import { Confirm } from '../ui/confirm.tsx'
import { exactTime, milliseconds } from '../ui/format.ts'
import { notify } from '../ui/notify.ts'
import { Page } from '../ui/page.tsx'
import { Answered } from '../ui/states.tsx'
import { Doctor, useCheck } from './doctor.tsx'
import { numbersChanged, trunkQuery, trunksChanged, trunksQuery } from './queries.ts'
import { HostState, LastError, TrunkState } from './status.tsx'
import { TrunkForm } from './trunk-form.tsx'
import { whereOf } from './trunk-list.tsx'
import { patchOf, type Trunk, type TrunkValues, valuesOf } from './values.ts'

export default function TrunkPage() {
  const { t } = useTranslation('trunks')
  const { id = '' } = useParams()
  const trunk = useQuery(trunkQuery(id))
  return (
    <Page
      title={trunk.data?.name ?? t('trunk.title')}
      actions={trunk.data && <DeleteTrunk trunk={trunk.data} key={id} />}
    >
      <Answered of={trunk}>{data => <OneTrunk trunk={data} key={data.id} />}</Answered>
    </Page>
  )
}

function OneTrunk({ trunk }: { trunk: Trunk }) {
  const { t } = useTranslation('trunks')
  const { t: common } = useTranslation()
  const [search, setSearch] = useSearchParams()
  const check = useCheck(trunk.id)
  const wanted = search.get('check') === '1'
  // biome-ignore lint/correctness/useExhaustiveDependencies: run once, after the trunk is created
  useEffect(() => {
    if (!wanted) return
    setSearch({}, { replace: true })
    check.mutate()
  }, [wanted])
  const save = async (values: TrunkValues, before: TrunkValues) => {
    const path = { trunk_id: trunk.id }
    const body = patchOf(before, values)
    const saved = await must(api.PATCH('/v1/public/trunks/{trunk_id}', { params: { path }, body }))
    queryClient.setQueryData(trunkQuery(trunk.id).queryKey, saved)
    await trunksChanged()
    notify(common('saved'))
    // The previous diagnostics are for the old settings, so run them again.
    check.mutate()
    return valuesOf(saved)
  }
  return (
    <Stack>
      <State trunk={trunk} />
      <Doctor check={check} />
      <Stack gap="xs" maw={760}>
        <Title order={2} size="h4">
          {t('trunk.settings')}
        </Title>
        <TrunkForm initial={valuesOf(trunk)} owned={trunk.numbers} action={common('save')} onSave={save} />
      </Stack>
    </Stack>
  )
}

function State({ trunk }: { trunk: Trunk }) {
  const { t } = useTranslation('trunks')
  const { hosts, last_error, changed_at } = trunk.status
  return (
    <Paper withBorder p="md" component="section" aria-label={t('trunk.state')}>
      <Stack gap="xs">
        <Title order={2} size="h4">
          {t('trunk.state')}
        </Title>
        <Stack gap="xs" aria-live="polite">
          <Group gap="sm">
            <TrunkState trunk={trunk} />
            {changed_at !== null && (
              <Text size="sm" c="dimmed">
                {t('trunk.since', { time: exactTime(changed_at) })}
              </Text>
            )}
          </Group>
          <LastError of={last_error} />
        </Stack>
        <Table.ScrollContainer minWidth={440} type="native" tabIndex={0} role="region" aria-label={t('trunk.servers')}>
          <Table verticalSpacing={6}>
            <Table.Thead>
              <Table.Tr>
                <Table.Th scope="col">{t('trunk.server')}</Table.Th>
                <Table.Th scope="col">{t('trunk.answers')}</Table.Th>
                <Table.Th scope="col" ta="right">
                  {t('trunks.options')}
                </Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {hosts
                .flatMap(host => [{ ...host, of: '' }, ...host.targets.map(target => ({ ...target, of: host.host }))])
                .map(server => (
                  <Table.Tr key={`${server.of} ${whereOf(server)}`}>
                    <Table.Td pl={server.of === '' ? undefined : 'xl'}>{whereOf(server)}</Table.Td>
                    <Table.Td>
                      <HostState alive={server.alive} />
                    </Table.Td>
                    <Table.Td ta="right">{server.options_ms === null ? '—' : milliseconds(server.options_ms)}</Table.Td>
                  </Table.Tr>
                ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      </Stack>
    </Paper>
  )
}

function DeleteTrunk({ trunk }: { trunk: Trunk }) {
  const { t } = useTranslation('trunks')
  const { t: common } = useTranslation()
  const navigate = useNavigate()
  const remove = async () => {
    await must(api.DELETE('/v1/public/trunks/{trunk_id}', { params: { path: { trunk_id: trunk.id } } }))
    navigate('/trunks')
    notify(t('trunk.deleted', { name: trunk.name }))
    // Don't refetch the deleted trunk itself.
    await Promise.all([queryClient.invalidateQueries(trunksQuery), numbersChanged()])
  }
  return (
    <Confirm
      trigger={open => (
        <Button variant="default" onClick={open}>
          {common('delete')}
        </Button>
      )}
      title={t('trunk.delete', { name: trunk.name })}
      action={common('delete')}
      onConfirm={remove}
    >
      <Text>{t('trunk.deleteText', { count: trunk.numbers.length })}</Text>
    </Confirm>
  )
}
