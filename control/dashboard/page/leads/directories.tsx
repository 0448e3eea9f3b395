import { Alert, Button, FileButton, Group, List, Stack, Text, Title } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { api } from '../api/client.ts'
import { must, ParleyError } from '../api/queries.ts'
import type { Schemas } from '../api/types.ts'
import { Confirm } from '../ui/confirm.tsx'
import { dateTime, number } from '../ui/format.ts'
import { notify } from '../ui/notify.ts'
import { oneOf } from '../ui/search-state.ts'
import { Answered, Empty, ProblemAlert } from '../ui/states.tsx'
import { type Column, DataTable } from '../ui/table.tsx'
import { type Directory, directoriesQuery } from './queries.ts'

type Made = Schemas['LeadDirectoryMade']

/** Sends the CSV table as multipart/form-data. */
function upload(file: File): Promise<Made> {
  const form = new FormData()
  form.append('file', file)
  return must(
    api.POST('/v1/public/lead-search/directories', {
      body: { file: file.name },
      bodySerializer: () => form,
    }),
  )
}

export function Directories() {
  const { t } = useTranslation('leads')
  const client = useQueryClient()
  const directories = useQuery(directoriesQuery)
  const columns = useColumns()
  const adding = useMutation({
    mutationFn: upload,
    onSuccess: () => client.invalidateQueries({ queryKey: directoriesQuery.queryKey }),
  })
  return (
    <Stack gap="xs">
      <Group justify="space-between" align="flex-end">
        <Title order={2} size="h4">
          {t('directories.title')}
        </Title>
        <FileButton
          accept=".csv,text/csv"
          onChange={file => file && adding.mutate(file)}
          inputProps={{ 'aria-label': t('directories.file') }}
        >
          {props => (
            <Button variant="default" loading={adding.isPending} {...props}>
              {t('directories.add')}
            </Button>
          )}
        </FileButton>
      </Group>
      <Text size="sm" c="dimmed" maw={720}>
        {t('directories.hint')}
      </Text>
      <Refused error={adding.error} />
      {adding.data && <Understood made={adding.data} />}
      <Answered of={directories}>
        {list => (
          <DataTable
            label={t('directories.title')}
            columns={columns}
            items={list.items}
            rowKey={({ id }) => id}
            empty={<Empty title={t('directories.none')} />}
            minWidth={480}
          />
        )}
      </Answered>
    </Stack>
  )
}

function useColumns(): Column<Directory>[] {
  const { t } = useTranslation('leads')
  const { t: common } = useTranslation()
  return [
    { key: 'name', header: common('name'), cell: ({ name }) => name },
    { key: 'companies', header: t('directories.companies'), align: 'right', cell: one => number(one.companies) },
    { key: 'created', header: t('directories.created'), cell: one => dateTime(one.created_at) },
    { key: 'actions', header: common('actions'), align: 'right', cell: one => <Remove directory={one} /> },
  ]
}

const refusals = ['empty', 'no_header', 'not_text', 'damaged', 'too_large', 'too_many_rows', 'no_file'] as const

/** Shows why the file was rejected, if the server reports it. */
function Refused({ error }: { error: unknown }) {
  const { t } = useTranslation('leads')
  const code = error instanceof ParleyError ? error.problem.errors?.[0]?.code : undefined
  const known = oneOf(code ?? null, refusals)
  if (!known) return <ProblemAlert error={error} />
  return (
    <Alert color="red" variant="light" role="alert">
      {t(`directories.refusals.${known}`)}
    </Alert>
  )
}

const columnsKnown = ['company', 'phone', 'email', 'website', 'address', 'city', 'category', 'lat', 'lon'] as const

/** Shows how the columns were interpreted and which rows were skipped. */
function Understood({ made: { name, companies, columns, invalid, invalid_total } }: { made: Made }) {
  const { t } = useTranslation('leads')
  const meaning = (column: string | null) => {
    const known = oneOf(column, columnsKnown)
    return known ? t(`directories.columns.${known}`) : (column ?? t('directories.fact'))
  }
  return (
    <Alert variant="outline" role="status" title={t('directories.made', { name, count: companies })}>
      <List size="sm">
        {columns.map(({ header, column }) => (
          <List.Item key={header}>
            {header} → {meaning(column)}
          </List.Item>
        ))}
      </List>
      {invalid_total > 0 && (
        <Text size="sm" mt="xs">
          {t('directories.left', { count: invalid_total })}{' '}
          {invalid
            .slice(0, 10)
            .map(({ index, code }) => t('directories.row', { row: index + 1, why: t(`directories.invalid.${code}`) }))
            .join('; ')}
        </Text>
      )}
    </Alert>
  )
}

function Remove({ directory: { id, name } }: { directory: Directory }) {
  const { t } = useTranslation('leads')
  const { t: common } = useTranslation()
  const client = useQueryClient()
  const remove = async () => {
    await must(
      api.DELETE('/v1/public/lead-search/directories/{directory_id}', { params: { path: { directory_id: id } } }),
    )
    await client.invalidateQueries({ queryKey: directoriesQuery.queryKey })
    notify(t('directories.removed'))
  }
  return (
    <Confirm
      trigger={open => (
        <Button
          variant="subtle"
          color="red"
          size="compact-sm"
          onClick={open}
          aria-label={t('directories.removeOne', { name })}
        >
          {common('delete')}
        </Button>
      )}
      title={t('directories.removeOne', { name })}
      action={common('delete')}
      onConfirm={remove}
    >
      <Text>{t('directories.removeHint')}</Text>
    </Confirm>
  )
}
