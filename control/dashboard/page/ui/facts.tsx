/** What is known of one thing, a line each. */
import { Table } from '@mantine/core'
import type { ReactNode } from 'react'

export function Facts({ children }: { children: ReactNode }) {
  return (
    <Table variant="vertical" layout="fixed">
      <Table.Tbody>{children}</Table.Tbody>
    </Table>
  )
}

/** Texts of people may be one long word: nothing else would keep them on a narrow screen. */
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
