/** A table of labeled values, one per row. */
import { Table } from '@mantine/core'
import type { ReactNode } from 'react'

export function Facts({ children }: { children: ReactNode }) {
  return (
    <Table variant="vertical" layout="fixed">
      <Table.Tbody>{children}</Table.Tbody>
    </Table>
  )
}

/** User texts may be one long word, which would overflow a narrow screen unless it can wrap anywhere. */
export function Fact({ label, children }: { label: string; children: ReactNode }) {
  return (
    <Table.Tr>
      <Table.Th w="40%" scope="row">
        {label}
      </Table.Th>
      <Table.Td style={{ overflowWrap: 'anywhere' }}>{children}</Table.Td>
    </Table.Tr>
  )
}
