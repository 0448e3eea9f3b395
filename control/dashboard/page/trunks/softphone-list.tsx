import { ActionIcon, Anchor, Badge, Button, Group, Stack, Text } from '@mantine/core'
import { IconKey, IconPencil, IconPlus, IconTrash } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { Link } from 'react-router'
import { api } from '../api/client.ts'
import { must } from '../api/queries.ts'
import type { Schemas } from '../api/types.ts'
import { Confirm } from '../ui/confirm.tsx'
import { dateTime } from '../ui/format.ts'
import { notify } from '../ui/notify.ts'
import { Answered, Empty } from '../ui/states.tsx'
import { type Column, DataTable } from '../ui/table.tsx'
import { useProjectName } from './bindings.ts'
import { softphonesChanged, softphonesQuery } from './queries.ts'
import { Section } from './section.tsx'
import { SoftphoneForm } from './softphone-form.tsx'
import { SoftphoneSetup } from './softphone-setup.tsx'

type Softphone = Schemas['Softphone']
type Made = Schemas['SoftphoneCreated']

export function SoftphoneList() {
  const { t } = useTranslation('trunks')
  const { t: common } = useTranslation()
  const softphones = useQuery(softphonesQuery)
  const projectName = useProjectName()
  const [edited, setEdited] = useState<Softphone | 'new' | null>(null)
  const [made, setMade] = useState<Made | null>(null)
  const columns: Column<Softphone>[] = [
    {
      key: 'name',
      header: t('softphones.name'),
      cell: ({ name, username }) => (
        <Stack gap={0}>
          <Text fw={600} size="sm">
            {name}
          </Text>
          <Text size="xs" c="dimmed">
            {username}
          </Text>
        </Stack>
      ),
    },
    {
      key: 'project',
      header: t('softphones.project'),
      cell: ({ project_id }) => (
        <Anchor component={Link} to={`/projects/${project_id}`} size="sm">
          {projectName(project_id)}
        </Anchor>
      ),
    },
    { key: 'state', header: t('softphones.state'), cell: softphone => <State of={softphone} /> },
    {
      key: 'actions',
      header: common('actions'),
      align: 'right',
      cell: softphone => <Actions of={softphone} onEdit={() => setEdited(softphone)} onRenewed={setMade} />,
    },
  ]
  const add = (
    <Button
      variant="default"
      size="xs"
      leftSection={<IconPlus size={14} aria-hidden />}
      onClick={() => setEdited('new')}
    >
      {t('softphones.add')}
    </Button>
  )
  return (
    <Section title={t('softphones.heading')} lead={t('softphones.lead')} actions={add}>
      <Answered of={softphones}>
        {({ items }) => (
          <DataTable
            label={t('softphones.heading')}
            columns={columns}
            items={items}
            rowKey={({ id }) => id}
            empty={<Empty title={t('softphones.none')} />}
            minWidth={620}
          />
        )}
      </Answered>
      {edited !== null && (
        <SoftphoneForm
          softphone={edited === 'new' ? null : edited}
          onClose={() => setEdited(null)}
          onMade={softphone => {
            setEdited(null)
            setMade(softphone)
          }}
        />
      )}
      {made && <SoftphoneSetup made={made} onClose={() => setMade(null)} />}
    </Section>
  )
}

/** Shows the registered phones, or the time of the last registration. */
function State({ of: { status } }: { of: Softphone }) {
  const { t } = useTranslation('trunks')
  const { registered, contacts, last_seen_at } = status
  return (
    <Stack gap={2} align="flex-start">
      <Badge variant="dot" color={registered ? 'teal' : 'gray'} tt="none">
        {registered ? t('softphones.registered') : t('softphones.away')}
      </Badge>
      {contacts.map(({ address, transport, user_agent }) => (
        <Text size="xs" c="dimmed" key={`${address} ${transport}`}>
          {user_agent ?? t('softphones.telephone')} · {address} · {transport.toUpperCase()}
        </Text>
      ))}
      {!registered && last_seen_at !== null && (
        <Text size="xs" c="dimmed">
          {t('softphones.lastSeen', { time: dateTime(last_seen_at) })}
        </Text>
      )}
    </Stack>
  )
}

function Actions({
  of: { id, name },
  onEdit,
  onRenewed,
}: {
  of: Softphone
  onEdit: () => void
  onRenewed: (made: Made) => void
}) {
  const { t } = useTranslation('trunks')
  const { t: common } = useTranslation()
  const params = { path: { softphone_id: id } }
  const renew = async () => {
    onRenewed(await must(api.POST('/v1/public/softphones/{softphone_id}/password', { params })))
    await softphonesChanged()
  }
  const remove = async () => {
    await must(api.DELETE('/v1/public/softphones/{softphone_id}', { params }))
    notify(t('softphones.deleted', { name }))
    await softphonesChanged()
  }
  return (
    <Group gap={4} justify="flex-end" wrap="nowrap">
      <ActionIcon variant="subtle" onClick={onEdit} aria-label={t('softphones.edit', { name })}>
        <IconPencil size={16} aria-hidden />
      </ActionIcon>
      <Confirm
        trigger={open => (
          <ActionIcon variant="subtle" onClick={open} aria-label={t('softphones.renew', { name })}>
            <IconKey size={16} aria-hidden />
          </ActionIcon>
        )}
        title={t('softphones.renew', { name })}
        action={t('softphones.renewAction')}
        onConfirm={renew}
      >
        <Text>{t('softphones.renewText')}</Text>
      </Confirm>
      <Confirm
        trigger={open => (
          <ActionIcon variant="subtle" color="red" onClick={open} aria-label={t('softphones.delete', { name })}>
            <IconTrash size={16} aria-hidden />
          </ActionIcon>
        )}
        title={t('softphones.delete', { name })}
        action={common('delete')}
        onConfirm={remove}
      >
        <Text>{t('softphones.deleteText')}</Text>
      </Confirm>
    </Group>
  )
}
