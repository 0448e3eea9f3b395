/** Tables that scroll horizontally on narrow screens, and list pagination. */
import { Group, Pagination, Stack, Table, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { number } from './format.ts'
import { Empty } from './states.tsx'

export interface Column<T> {
  key: string
  header: string
  cell: (item: T) => ReactNode
  align?: 'left' | 'right'
}

interface DataTableProps<T> {
  /** Accessible name of the table. */
  label: string
  columns: Column<T>[]
  items: T[]
  rowKey: (item: T) => string
  /** Shown instead of the table if there are no items. */
  empty: ReactNode
  minWidth?: number
}

export function DataTable<T>({ label, columns, items, rowKey, empty, minWidth = 600 }: DataTableProps<T>) {
  if (items.length === 0) return typeof empty === 'string' ? <Empty title={empty} /> : empty
  return (
    <Table.ScrollContainer minWidth={minWidth} type="native" tabIndex={0} role="region" aria-label={label}>
      <Table highlightOnHover verticalSpacing="xs">
        <caption className="visually-hidden">{label}</caption>
        <Table.Thead>
          <Table.Tr>
            {columns.map(({ key, header, align }) => (
              <Table.Th key={key} ta={align} scope="col">
                {header}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {items.map(item => (
            <Table.Tr key={rowKey(item)}>
              {columns.map(({ key, cell, align }) => (
                <Table.Td key={key} ta={align}>
                  {cell(item)}
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}

interface PagesProps {
  total: number
  limit: number
  offset: number
  onChange: (offset: number) => void
}

export function Pages({ total, limit, offset, onChange }: PagesProps) {
  const { t } = useTranslation()
  if (total <= limit) return null
  return (
    <Group justify="space-between">
      <Text size="sm" c="dimmed">
        {t('pages.shown', {
          from: number(offset + 1),
          to: number(Math.min(offset + limit, total)),
          total: number(total),
        })}
      </Text>
      <Pagination
        total={Math.ceil(total / limit)}
        value={Math.floor(offset / limit) + 1}
        onChange={page => onChange((page - 1) * limit)}
        getControlProps={control => ({ 'aria-label': t(`pages.${control}`) })}
        getItemProps={page => ({ 'aria-label': t('pages.page', { page }) })}
      />
    </Group>
  )
}

interface ListOf<T> {
  items: T[]
  total: number
  limit: number
  offset: number
}

/** Shows one page of an API list, with pagination below. */
export function ListTable<T>({
  list,
  onOffset,
  ...table
}: Omit<DataTableProps<T>, 'items'> & { list: ListOf<T>; onOffset: (offset: number) => void }) {
  return (
    <Stack>
      <DataTable {...table} items={list.items} />
      <Pages {...list} onChange={onOffset} />
    </Stack>
  )
}
