/** Lists the account's secrets by name. The API never returns their values. */
import { Button, Group, Text } from '@mantine/core'
import { IconPlus } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { api } from '../api/client.ts'
import { secretsQuery } from '../api/projects.ts'
import { must, queryClient } from '../api/queries.ts'
import type { Schemas } from '../api/types.ts'
import { Confirm } from '../ui/confirm.tsx'
import { dateTime } from '../ui/format.ts'
import { Section } from '../ui/section.tsx'
import { Answered } from '../ui/states.tsx'
import { DataTable } from '../ui/table.tsx'
import { SecretModal } from './secret-field.tsx'

export default function SecretsTab() {
  const { t } = useTranslation('projects')
  const secrets = useQuery(secretsQuery)
  const [making, setMaking] = useState(false)
  return (
    <Section title={t('tabs.secrets')} hint={t('secrets.hint')}>
      <Answered of={secrets}>{({ items }) => <SecretTable secrets={items} />}</Answered>
      <Button
        variant="default"
        leftSection={<IconPlus size={16} aria-hidden />}
        onClick={() => setMaking(true)}
        style={{ alignSelf: 'flex-start' }}
      >
        {t('secrets.new')}
      </Button>
      <SecretModal opened={making} onClose={() => setMaking(false)} />
    </Section>
  )
}

function SecretTable({ secrets }: { secrets: Schemas['Secret'][] }) {
  const { t } = useTranslation('projects')
  const { t: common } = useTranslation()
  const [again, setAgain] = useState<string | null>(null)
  return (
    <>
      <DataTable
        label={t('tabs.secrets')}
        minWidth={420}
        items={secrets}
        rowKey={({ name }) => name}
        empty={t('secrets.empty')}
        columns={[
          {
            key: 'name',
            header: common('name'),
            cell: ({ name }) => (
              <Text ff="monospace" size="sm">
                {name}
              </Text>
            ),
          },
          { key: 'set', header: t('secrets.setAt'), cell: ({ updated_at }) => dateTime(updated_at) },
          {
            key: 'actions',
            header: common('actions'),
            align: 'right',
            cell: ({ name }) => (
              <Group gap="xs" justify="flex-end" wrap="nowrap">
                <Button
                  size="compact-sm"
                  variant="default"
                  onClick={() => setAgain(name)}
                  aria-label={t('secrets.again', { name })}
                >
                  {t('secrets.replace')}
                </Button>
                <RemoveSecret name={name} />
              </Group>
            ),
          },
        ]}
      />
      <SecretModal opened={again !== null} onClose={() => setAgain(null)} name={again ?? ''} />
    </>
  )
}

function RemoveSecret({ name }: { name: string }) {
  const { t } = useTranslation('projects')
  const { t: common } = useTranslation()
  const remove = async () => {
    await must(api.DELETE('/v1/public/secrets/{name}', { params: { path: { name } } }))
    await queryClient.invalidateQueries({ queryKey: secretsQuery.queryKey })
  }
  return (
    <Confirm
      trigger={open => (
        <Button
          size="compact-sm"
          variant="subtle"
          color="red"
          onClick={open}
          aria-label={t('secrets.remove', { name })}
        >
          {common('delete')}
        </Button>
      )}
      title={t('secrets.remove', { name })}
      action={common('delete')}
      onConfirm={remove}
    >
      <Text>{t('secrets.removeText')}</Text>
    </Confirm>
  )
}
