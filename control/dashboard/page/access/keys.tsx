import { Anchor, Badge, Button, Code, Group, Paper, Stack, Text, Title } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { api } from '../api/client.ts'
import { must, projectsQuery } from '../api/queries.ts'
import { ConfirmButton } from '../ui/confirm.tsx'
import { CopyBlock } from '../ui/copy.tsx'
import { dateTime } from '../ui/format.ts'
import { notify } from '../ui/notify.ts'
import { useFilters } from '../ui/search-state.ts'
import { Answered, Empty } from '../ui/states.tsx'
import { type Column, ListTable } from '../ui/table.tsx'
import { KeyForm } from './key-form.tsx'
import { type Key, keysQuery } from './queries.ts'
import { Secret } from './secret.tsx'
import { curl, here } from './snippets.ts'

export function Keys() {
  const { t } = useTranslation('access')
  const { offset, set } = useFilters()
  const keys = useQuery(keysQuery(offset))
  const columns = useColumns()
  const [making, setMaking] = useState(false)
  const [value, setValue] = useState<string | null>(null)
  const made = (secret: string | undefined) => {
    setMaking(false)
    setValue(secret ?? null)
  }
  return (
    <Stack>
      <Group justify="space-between" align="flex-start">
        <Text maw={620}>{t('keys.lead')}</Text>
        <Button onClick={() => setMaking(true)}>{t('keys.create')}</Button>
      </Group>
      <KeyForm opened={making} onClose={() => setMaking(false)} onMade={made} />
      <Secret title={t('keys.made')} value={value} label={t('keys.value')} onClose={() => setValue(null)}>
        <Text size="sm">{t('keys.try')}</Text>
        <CopyBlock value={curl(value ?? '')} label={t('keys.curl')} />
      </Secret>
      <Answered of={keys}>
        {list => (
          <ListTable
            label={t('keys.title')}
            columns={columns}
            list={list}
            rowKey={({ id }) => id}
            empty={<Empty title={t('keys.none')} />}
            onOffset={next => set({ offset: String(next) })}
            minWidth={980}
          />
        )}
      </Answered>
      <Reference />
    </Stack>
  )
}

function useColumns(): Column<Key>[] {
  const { t } = useTranslation('access')
  const { t: common } = useTranslation()
  const time = (iso: string | null, otherwise: string) => (iso === null ? otherwise : dateTime(iso))
  return [
    { key: 'name', header: common('name'), cell: ({ name }) => name },
    { key: 'prefix', header: t('keys.prefix'), cell: ({ prefix }) => <Code>{prefix}…</Code> },
    {
      key: 'scopes',
      header: t('keys.scopes'),
      cell: key => key.scopes.map(scope => t(`scopes.${scope}.name`)).join(', '),
    },
    { key: 'limits', header: t('keys.limits'), cell: key => <Limits of={key} /> },
    { key: 'created', header: t('keys.created'), cell: key => dateTime(key.created_at) },
    { key: 'used', header: t('keys.used'), cell: key => time(key.last_used_at, t('keys.never')) },
    { key: 'expires', header: t('keys.expires'), cell: key => time(key.expires_at, t('keys.forever')) },
    { key: 'status', header: common('status'), cell: key => <KeyStatus of={key} /> },
    { key: 'actions', header: common('actions'), align: 'right', cell: key => <Revoke of={key} /> },
  ]
}

function Limits({ of: { addresses, project_ids } }: { of: Key }) {
  const { t } = useTranslation('access')
  const { data: projects } = useQuery(projectsQuery)
  if (addresses === null && project_ids === null) return t('keys.noLimits')
  const names = project_ids?.map(id => projects?.find(project => project.id === id)?.name ?? id)
  return (
    <Stack gap={2} maw={220} style={{ overflowWrap: 'anywhere' }}>
      {addresses && <span>{addresses.join(', ')}</span>}
      {names && <span>{names.join(', ')}</span>}
    </Stack>
  )
}

type Standing = 'active' | 'expired' | 'revoked'
const colors = { active: 'green', expired: 'gray', revoked: 'red' }

function standingOf({ revoked_at, expires_at }: Key): Standing {
  if (revoked_at !== null) return 'revoked'
  return expires_at !== null && Date.parse(expires_at) <= Date.now() ? 'expired' : 'active'
}

function KeyStatus({ of: key }: { of: Key }) {
  const { t } = useTranslation('access')
  const standing = standingOf(key)
  return (
    <Badge miw="max-content" variant="dot" color={colors[standing]} tt="none">
      {t(`keys.standing.${standing}`)}
    </Badge>
  )
}

function Revoke({ of: { id, name, revoked_at } }: { of: Key }) {
  const { t } = useTranslation('access')
  const client = useQueryClient()
  if (revoked_at !== null) return null
  const revoke = async () => {
    await must(api.DELETE('/v1/public/keys/{key_id}', { params: { path: { key_id: id } } }))
    await client.invalidateQueries({ queryKey: ['keys'] })
    notify(t('keys.gone'))
  }
  return (
    <ConfirmButton
      size="compact-sm"
      label={t('keys.revokeOne', { name })}
      title={t('keys.revokeOne', { name })}
      action={t('keys.revoke')}
      onConfirm={revoke}
    >
      <Text>{t('keys.revokeHint')}</Text>
    </ConfirmButton>
  )
}

function Reference() {
  const { t } = useTranslation('access')
  return (
    <Paper withBorder p="md">
      <Stack gap="xs">
        <Title order={2} size="h4">
          {t('reference.title')}
        </Title>
        <Text size="sm">{t('reference.base')}</Text>
        <CopyBlock value={`${here()}/v1/public`} label={t('reference.base')} />
        <Group>
          <Anchor href="/docs" target="_blank" rel="noopener noreferrer">
            {t('reference.docs')}
          </Anchor>
          <Anchor href="/openapi.json" target="_blank" rel="noopener noreferrer">
            {t('reference.openapi')}
          </Anchor>
        </Group>
        <Text size="sm" c="dimmed">
          {t('reference.rate')}
        </Text>
      </Stack>
    </Paper>
  )
}
