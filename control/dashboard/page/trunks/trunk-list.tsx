import { Anchor, Button, Stack, Text } from '@mantine/core'
import { IconPlus } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { Link } from 'react-router'
import { milliseconds, number } from '../ui/format.ts'
import { Answered, Empty } from '../ui/states.tsx'
import { type Column, DataTable } from '../ui/table.tsx'
import { trunksQuery } from './queries.ts'
import { LastError, TrunkState } from './status.tsx'
import type { Trunk } from './values.ts'

export function AddTrunk() {
  const { t } = useTranslation('trunks')
  return (
    <Button component={Link} to="/trunks/new" leftSection={<IconPlus size={16} aria-hidden />}>
      {t('trunks.add')}
    </Button>
  )
}

/** Prevents line breaks in narrow columns. */
const Word = ({ children }: { children: string }) => <span style={{ whiteSpace: 'nowrap' }}>{children}</span>

/** Formats the server as `host:port · TRANSPORT`. */
export const whereOf = ({ host, port, transport }: Pick<Trunk, 'host' | 'port' | 'transport'>) =>
  `${host}${port === null ? '' : `:${port}`} · ${transport.toUpperCase()}`

export function TrunkList() {
  const { t } = useTranslation('trunks')
  const trunks = useQuery(trunksQuery)
  const columns: Column<Trunk>[] = [
    {
      key: 'name',
      header: t('trunks.name'),
      cell: trunk => (
        <Stack gap={0}>
          <Anchor component={Link} to={`/trunks/${trunk.id}`} fw={600} size="sm">
            {trunk.name}
          </Anchor>
          <Text size="xs" c="dimmed">
            {whereOf(trunk)}
          </Text>
        </Stack>
      ),
    },
    { key: 'mode', header: t('trunks.how'), cell: ({ mode }) => <Word>{t(`modes.${mode}.short`)}</Word> },
    {
      key: 'state',
      header: t('trunks.state'),
      cell: trunk => (
        <Stack gap={4} align="flex-start" aria-live="polite">
          <TrunkState trunk={trunk} />
          <LastError of={trunk.status.last_error} />
        </Stack>
      ),
    },
    {
      key: 'options',
      header: t('trunks.options'),
      align: 'right',
      cell: ({ status }) => (status.last_options_ms === null ? '—' : milliseconds(status.last_options_ms)),
    },
    { key: 'numbers', header: t('trunks.numbers'), align: 'right', cell: trunk => number(trunk.numbers.length) },
    {
      key: 'limit',
      header: t('trunks.limit'),
      align: 'right',
      cell: ({ max_calls }) => (max_calls === null ? t('trunks.unlimited') : number(max_calls)),
    },
  ]
  const none = (
    <Empty title={t('trunks.none')}>
      <Text c="dimmed" maw={480}>
        {t('trunks.noneHint')}
      </Text>
    </Empty>
  )
  return (
    <Answered of={trunks}>
      {({ items }) => (
        <DataTable
          label={t('trunks.heading')}
          columns={columns}
          items={items}
          rowKey={({ id }) => id}
          empty={none}
          minWidth={860}
        />
      )}
    </Answered>
  )
}
