import { ActionIcon, Anchor, Button, Group, Text } from '@mantine/core'
import { IconX } from '@tabler/icons-react'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { Link, useSearchParams } from 'react-router'
import { api } from '../api/client.ts'
import { must } from '../api/queries.ts'
import { Confirm } from '../ui/confirm.tsx'
import { notify } from '../ui/notify.ts'
import { Answered, Empty } from '../ui/states.tsx'
import { type Column, ListTable } from '../ui/table.tsx'
import { BindNumber } from './bind-number.tsx'
import { boundTo, type NumberItem, useProjectName, type Way } from './bindings.ts'
import { numbersChanged, numbersPageQuery } from './queries.ts'
import { VerifyNumber } from './verify-number.tsx'

export function NumberList() {
  const { t } = useTranslation('trunks')
  const { t: common } = useTranslation()
  const [search, setSearch] = useSearchParams()
  const offset = Math.max(0, Math.trunc(Number(search.get('numbers')) || 0))
  const numbers = useQuery({ ...numbersPageQuery(offset), placeholderData: keepPreviousData })
  // Keep only the number: its bindings may change while the dialog is open.
  const [binding, setBinding] = useState<string | null>(null)
  const [verifying, setVerifying] = useState<string | null>(null)
  const turnTo = (to: number) =>
    setSearch(to > 0 ? { numbers: String(to) } : {}, { replace: true, preventScrollReset: true })
  const columns: Column<NumberItem>[] = [
    {
      key: 'number',
      header: t('numbers.number'),
      cell: item => (
        <Text fw={600} size="sm" style={{ whiteSpace: 'nowrap' }}>
          {item.number}
        </Text>
      ),
    },
    {
      key: 'trunk',
      header: t('numbers.trunk'),
      cell: item => (
        <Anchor component={Link} to={`/trunks/${item.trunk_id}`} size="sm">
          {item.trunk_name}
        </Anchor>
      ),
    },
    {
      key: 'verified',
      header: t('verify.header'),
      cell: item =>
        item.verified ? (
          <Text size="sm">{t('verify.yes')}</Text>
        ) : (
          <Button
            size="compact-sm"
            variant="subtle"
            onClick={() => setVerifying(item.number)}
            aria-label={t('verify.title', { number: item.number })}
          >
            {t('verify.open')}
          </Button>
        ),
    },
    { key: 'in', header: t('numbers.in'), cell: item => <Bound item={item} way="in" /> },
    { key: 'out', header: t('numbers.out'), cell: item => <Bound item={item} way="out" /> },
    {
      key: 'actions',
      header: common('actions'),
      align: 'right',
      cell: item => (
        <Button
          size="compact-sm"
          variant="default"
          onClick={() => setBinding(item.number)}
          aria-label={t('numbers.bindNumber', { number: item.number })}
        >
          {t('numbers.bind')}
        </Button>
      ),
    },
  ]
  const beingBound = numbers.data?.items.find(item => item.number === binding)
  return (
    <>
      <Answered of={numbers}>
        {list => (
          <ListTable
            label={t('numbers.heading')}
            columns={columns}
            list={list}
            rowKey={item => item.number}
            onOffset={turnTo}
            empty={<Empty title={t('numbers.none')} />}
            minWidth={860}
          />
        )}
      </Answered>
      {beingBound && <BindNumber item={beingBound} onClose={() => setBinding(null)} />}
      {verifying !== null && <VerifyNumber number={verifying} onClose={() => setVerifying(null)} />}
    </>
  )
}

function Bound({ item, way }: { item: NumberItem; way: Way }) {
  const { t } = useTranslation('trunks')
  const projectName = useProjectName()
  const id = boundTo(item, way)
  if (id === null)
    return (
      <Text c="dimmed" size="sm">
        {t('numbers.free')}
      </Text>
    )
  const project = projectName(id)
  const unbind = async () => {
    const path = { project_id: id, number: item.number }
    await must(
      api.DELETE('/v1/public/projects/{project_id}/numbers/{number}', { params: { path, query: { direction: way } } }),
    )
    await numbersChanged()
    notify(t('numbers.unbound', { number: item.number }))
  }
  return (
    <Group gap={4} wrap="nowrap">
      <Anchor component={Link} to={`/projects/${id}`} size="sm">
        {project}
      </Anchor>
      <Confirm
        trigger={open => (
          <ActionIcon
            variant="subtle"
            color="gray"
            onClick={open}
            aria-label={t(`numbers.unbind.${way}`, { number: item.number, project })}
          >
            <IconX size={16} aria-hidden />
          </ActionIcon>
        )}
        title={t('numbers.unbindTitle', { number: item.number })}
        action={t('numbers.unbindAction')}
        onConfirm={unbind}
      >
        <Text>{t(`numbers.unbindText.${way}`, { number: item.number, project })}</Text>
      </Confirm>
    </Group>
  )
}
