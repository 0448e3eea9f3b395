import { Select, Table, Text, TextInput } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { type Column, type Role, roles, VARIABLE } from './columns.ts'

interface ColumnsProps {
  columns: Column[]
  onChange: (columns: Column[]) => void
}

/** Only one column can be the phone number or the name; the previous one becomes a variable. */
function withRole(columns: readonly Column[], index: number, role: Role): Column[] {
  const alone = role === 'phone' || role === 'name'
  return columns.map(column => {
    if (column.index === index) return { ...column, role }
    return alone && column.role === role ? { ...column, role: 'var' } : column
  })
}

export function Columns({ columns, onChange }: ColumnsProps) {
  const { t } = useTranslation('campaigns')
  return (
    <Table.ScrollContainer minWidth={560} type="native" tabIndex={0} role="region" aria-label={t('upload.columns')}>
      <Table verticalSpacing={6}>
        <caption className="visually-hidden">{t('upload.columns')}</caption>
        <Table.Thead>
          <Table.Tr>
            <Table.Th scope="col">{t('upload.columns')}</Table.Th>
            <Table.Th scope="col">{t('upload.meaning')}</Table.Th>
            <Table.Th scope="col">{t('upload.variable')}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {columns.map(column => (
            <ColumnRow
              key={column.index}
              column={column}
              taken={columns.some(
                other =>
                  other.index !== column.index &&
                  other.role === 'var' &&
                  column.role === 'var' &&
                  other.variable === column.variable,
              )}
              onRole={role => onChange(withRole(columns, column.index, role))}
              onVariable={variable =>
                onChange(columns.map(one => (one.index === column.index ? { ...one, variable } : one)))
              }
            />
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}

interface ColumnRowProps {
  column: Column
  /** Whether another column has the same variable. */
  taken: boolean
  onRole: (role: Role) => void
  onVariable: (variable: string) => void
}

function ColumnRow({ column: { index, title, role, variable, sample }, taken, onRole, onVariable }: ColumnRowProps) {
  const { t } = useTranslation('campaigns')
  const shown = title || t('upload.column', { n: index + 1 })
  const fault = !VARIABLE.test(variable) ? t('upload.badVariable') : taken ? t('upload.twice') : null
  return (
    <Table.Tr>
      <Table.Td maw={240}>
        <Text size="sm" fw={600} lineClamp={1}>
          {shown}
        </Text>
        <Text size="xs" c="dimmed" lineClamp={1}>
          {sample}
        </Text>
      </Table.Td>
      <Table.Td>
        <Select
          size="xs"
          aria-label={t('upload.meaningOf', { title: shown })}
          allowDeselect={false}
          data={roles.map(value => ({ value, label: t(`upload.roles.${value}`) }))}
          value={role}
          onChange={value => onRole(value as Role)}
        />
      </Table.Td>
      <Table.Td>
        {role === 'var' && (
          <TextInput
            size="xs"
            aria-label={t('upload.variableOf', { title: shown })}
            value={variable}
            error={fault}
            onChange={event => onVariable(event.currentTarget.value)}
          />
        )}
      </Table.Td>
    </Table.Tr>
  )
}
