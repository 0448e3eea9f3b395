import { Badge, Button, Code, Group, NativeSelect, Stack, Text } from '@mantine/core'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { exactTime } from '../ui/format.ts'
import { useFilters } from '../ui/search-state.ts'
import { Answered, Empty, ProblemAlert } from '../ui/states.tsx'
import { type Column, DataTable } from '../ui/table.tsx'
import { type AuditEntry, auditQuery, keyNamesQuery } from './queries.ts'

export function Audit() {
  const { t } = useTranslation('data')
  const { t: common } = useTranslation()
  const { params, set } = useFilters()
  const operations = useOperations()
  // The URL can name any operation, including one of a newer server that has no translation yet.
  const asked = params.get('operation')
  const operation = asked !== null && /^[a-z_]{1,64}$/.test(asked) ? asked : null
  const entries = useInfiniteQuery(auditQuery(operation))
  const columns = useColumns(operations)
  return (
    <Stack>
      <Text maw={720}>{t('audit.lead')}</Text>
      <NativeSelect
        maw={360}
        label={t('audit.operation')}
        data={[{ value: '', label: common('all') }, ...choicesOf(operations, operation)]}
        value={operation ?? ''}
        onChange={({ currentTarget }) => set({ operation: currentTarget.value })}
      />
      <Answered of={entries}>
        {({ pages }) => (
          <DataTable
            label={t('audit.title')}
            columns={columns}
            items={pages.flatMap(page => page.items)}
            rowKey={({ id }) => id}
            empty={<Empty title={t(operation === null ? 'audit.none' : 'audit.noneLike')} />}
            minWidth={980}
          />
        )}
      </Answered>
      {entries.data && <ProblemAlert error={entries.error} />}
      {entries.hasNextPage && (
        <Group>
          <Button variant="default" loading={entries.isFetchingNextPage} onClick={() => entries.fetchNextPage()}>
            {t('audit.older')}
          </Button>
        </Group>
      )}
      {entries.data && entries.data.pages.length > 1 && !entries.hasNextPage && (
        <Text size="sm" c="dimmed" role="status">
          {t('audit.end')}
        </Text>
      )}
    </Stack>
  )
}

type Operations = ReadonlyMap<string, string>

/** Names of API keys by ID. */
function useOperations(): Operations {
  const { t } = useTranslation('data')
  return new Map(Object.entries(t('operations', { returnObjects: true })))
}

function choicesOf(operations: Operations, asked: string | null) {
  const known = [...operations].map(([value, label]) => ({ value, label }))
  const unknown = asked !== null && !operations.has(asked) ? [{ value: asked, label: asked }] : []
  return [...unknown, ...known.sort((a, b) => a.label.localeCompare(b.label))]
}

function useColumns(operations: Operations): Column<AuditEntry>[] {
  const { t } = useTranslation('data')
  return [
    { key: 'at', header: t('audit.columns.at'), cell: ({ at }) => <Unbroken>{exactTime(at)}</Unbroken> },
    {
      key: 'what',
      header: t('audit.columns.what'),
      cell: ({ operation }) => operations.get(operation) ?? <Code>{operation}</Code>,
    },
    { key: 'to', header: t('audit.columns.to'), cell: ({ resource }) => (resource ? <Code>{resource}</Code> : '—') },
    {
      key: 'who',
      header: t('audit.columns.who'),
      cell: entry => (
        // Key names may be one long word; let them wrap so that the other columns stay visible.
        <div style={{ maxWidth: 260, overflowWrap: 'anywhere' }}>
          <Who entry={entry} />
        </div>
      ),
    },
    { key: 'from', header: t('audit.columns.from'), cell: entry => <From entry={entry} /> },
    { key: 'outcome', header: t('audit.columns.outcome'), cell: entry => <Outcome entry={entry} /> },
  ]
}

const Unbroken = ({ children }: { children: string }) => (
  <Text span inherit style={{ whiteSpace: 'nowrap' }}>
    {children}
  </Text>
)

function Who({ entry: { actor, actor_id, person } }: { entry: AuditEntry }) {
  const { t } = useTranslation('data')
  const { data: names } = useQuery(keyNamesQuery)
  const name = actor === 'key' && actor_id !== null ? names?.get(actor_id) : undefined
  if (name !== undefined) return t('audit.keyNamed', { name })
  return (
    <>
      {t(`audit.actors.${actor}`)} {actor === 'key' && <Code>{actor_id}</Code>}
      {person !== null && (
        <Text size="xs" c="dimmed">
          {person}
        </Text>
      )}
    </>
  )
}

function From({ entry: { channel, address } }: { entry: AuditEntry }) {
  const { t } = useTranslation('data')
  return (
    <>
      {t(`audit.channels.${channel}`)}
      {address && (
        <Text size="xs" c="dimmed">
          {address}
        </Text>
      )}
    </>
  )
}

const colors = { done: 'green', replayed: 'gray', refused: 'orange', failed: 'red', open: 'blue' } as const

function Outcome({ entry: { outcome, code } }: { entry: AuditEntry }) {
  const { t } = useTranslation('data')
  const how = outcome ?? 'open'
  return (
    <Stack gap={4} align="flex-start">
      <Badge miw="max-content" variant="dot" color={colors[how]} tt="none">
        {t(`audit.outcomes.${how}`)}
      </Badge>
      {code && <Code>{code}</Code>}
    </Stack>
  )
}
