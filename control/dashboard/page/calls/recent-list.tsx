import { DataTable } from '../ui/table.tsx'
import { useCallColumns } from './columns.tsx'
import type { Call } from './queries.ts'

const LEFT_OUT = new Set(['goal', 'reason'])

export default function RecentList({ label, calls }: { label: string; calls: Call[] }) {
  const columns = useCallColumns(null).filter(({ key }) => !LEFT_OUT.has(key))
  return <DataTable label={label} columns={columns} items={calls} rowKey={({ id }) => id} empty={null} />
}
