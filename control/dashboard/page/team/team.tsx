/** The people of the account, their roles, and open invitations. */
import { Button, Group, NativeSelect, Stack, Text } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { api } from '../api/client.ts'
import { must, sessionQuery } from '../api/queries.ts'
import { ConfirmButton } from '../ui/confirm.tsx'
import { dateTime } from '../ui/format.ts'
import { notify } from '../ui/notify.ts'
import { Page } from '../ui/page.tsx'
import { Section } from '../ui/section.tsx'
import { Answered, Empty, ProblemAlert } from '../ui/states.tsx'
import { type Column, DataTable, ListTable } from '../ui/table.tsx'
import { InviteForm } from './invite-form.tsx'
import { type Invitation, invitationsQuery, type Member, membersQuery, type Role, roles } from './queries.ts'

export default function Team() {
  const { t } = useTranslation('team')
  const [inviting, setInviting] = useState(false)
  return (
    <Page title={t('title')}>
      <Group justify="space-between" align="flex-start">
        <Text maw={620}>{t('lead')}</Text>
        <Button onClick={() => setInviting(true)}>{t('invite.title')}</Button>
      </Group>
      <InviteForm opened={inviting} onClose={() => setInviting(false)} />
      <People />
      <Invitations />
      <RoleGuide />
    </Page>
  )
}

function People() {
  const { t } = useTranslation('team')
  const { t: common } = useTranslation()
  const [offset, setOffset] = useState(0)
  const members = useQuery(membersQuery(offset))
  const columns: Column<Member>[] = [
    { key: 'name', header: common('name'), cell: ({ name }) => name },
    { key: 'email', header: t('email'), cell: ({ email }) => email ?? '—' },
    { key: 'role', header: t('role'), cell: member => <RoleOf member={member} /> },
    { key: 'since', header: t('since'), cell: ({ created_at }) => dateTime(created_at) },
    { key: 'actions', header: common('actions'), align: 'right', cell: member => <Remove member={member} /> },
  ]
  return (
    <Section title={t('people')}>
      <Answered of={members}>
        {list => (
          <ListTable
            label={t('people')}
            columns={columns}
            list={list}
            rowKey={({ id }) => id}
            empty=""
            onOffset={setOffset}
            minWidth={760}
          />
        )}
      </Answered>
    </Section>
  )
}

/** Only an owner changes an owner, or makes one. */
function useChoices(): readonly Role[] {
  const { data } = useQuery(sessionQuery)
  return data?.role === 'owner' ? roles : roles.filter(role => role !== 'owner')
}

function RoleOf({ member: { id, name, role, first_owner } }: { member: Member }) {
  const { t } = useTranslation('team')
  const client = useQueryClient()
  const choices = useChoices()
  const change = useMutation({
    mutationFn: (next: Role) =>
      must(api.PATCH('/v1/public/members/{member_id}', { params: { path: { member_id: id } }, body: { role: next } })),
    onSuccess: () => notify(t('changed')),
    onSettled: () => client.invalidateQueries({ queryKey: ['members'] }),
  })
  if (first_owner || !choices.includes(role)) return t(`roles.${role}.name`)
  return (
    <Stack gap={4}>
      <NativeSelect
        aria-label={t('roleOf', { name })}
        data={choices.map(value => ({ value, label: t(`roles.${value}.name`) }))}
        value={role}
        disabled={change.isPending}
        onChange={({ currentTarget }) => change.mutate(currentTarget.value as Role)}
      />
      <ProblemAlert error={change.error} />
    </Stack>
  )
}

function Remove({ member: { id, name, role, first_owner } }: { member: Member }) {
  const { t } = useTranslation('team')
  const client = useQueryClient()
  const choices = useChoices()
  const { data: session } = useQuery(sessionQuery)
  if (first_owner || !choices.includes(role) || session?.person_id === id) return null
  const remove = async () => {
    await must(api.DELETE('/v1/public/members/{member_id}', { params: { path: { member_id: id } } }))
    await client.invalidateQueries({ queryKey: ['members'] })
    notify(t('removed'))
  }
  return (
    <ConfirmButton
      size="compact-sm"
      label={t('removeOne', { name })}
      title={t('removeOne', { name })}
      action={t('remove')}
      onConfirm={remove}
    >
      <Text>{t('removeHint')}</Text>
    </ConfirmButton>
  )
}

function Invitations() {
  const { t } = useTranslation('team')
  const { t: common } = useTranslation()
  const client = useQueryClient()
  const invitations = useQuery(invitationsQuery)
  const revoke = (invitation_id: string) => async () => {
    await must(api.DELETE('/v1/public/invitations/{invitation_id}', { params: { path: { invitation_id } } }))
    await client.invalidateQueries({ queryKey: ['invitations'] })
    notify(t('invite.revoked'))
  }
  const columns: Column<Invitation>[] = [
    { key: 'email', header: t('email'), cell: ({ email }) => email },
    { key: 'role', header: t('role'), cell: ({ role }) => t(`roles.${role}.name`) },
    { key: 'by', header: t('invite.by'), cell: ({ invited_by }) => invited_by ?? '—' },
    { key: 'until', header: t('invite.until'), cell: ({ expires_at }) => dateTime(expires_at) },
    {
      key: 'actions',
      header: common('actions'),
      align: 'right',
      cell: ({ id, email }) => (
        <ConfirmButton
          size="compact-sm"
          label={t('invite.revokeOne', { email })}
          title={t('invite.revokeOne', { email })}
          action={t('invite.revoke')}
          onConfirm={revoke(id)}
        >
          <Text>{t('invite.revokeHint')}</Text>
        </ConfirmButton>
      ),
    },
  ]
  return (
    <Section title={t('invite.list')}>
      <Answered of={invitations}>
        {({ items }) => (
          <DataTable
            label={t('invite.list')}
            columns={columns}
            items={items}
            rowKey={({ id }) => id}
            empty={<Empty title={t('invite.none')} />}
            minWidth={680}
          />
        )}
      </Answered>
    </Section>
  )
}

function RoleGuide() {
  const { t } = useTranslation('team')
  return (
    <Section title={t('guide')}>
      <Stack component="dl" gap="xs" m={0}>
        {roles.map(role => (
          <div key={role}>
            <Text component="dt" fw={600}>
              {t(`roles.${role}.name`)}
            </Text>
            <Text component="dd" m={0} size="sm">
              {t(`roles.${role}.text`)}
            </Text>
          </div>
        ))}
      </Stack>
    </Section>
  )
}
