import { Code, Table, Text, Title } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import type { CallDetail } from './queries.ts'
import { Section } from './section.tsx'

/** The summary, the goal and the extracted data. */
export function Result({ call }: { call: CallDetail }) {
  const { t } = useTranslation('calls')
  const { summary, goal_evidence, extracted, extraction_problem } = call
  return (
    <Section title={t('result.title')}>
      {summary ? <Text>{summary}</Text> : <Text c="dimmed">{t('result.noSummary')}</Text>}
      {goal_evidence && <Text size="sm">{t('result.evidence', { words: goal_evidence })}</Text>}
      <Title order={3} size="h5">
        {t('result.extracted')}
      </Title>
      {extraction_problem && <Text size="sm">{t('result.problem', { problem: extraction_problem })}</Text>}
      {extracted && Object.keys(extracted).length > 0 ? (
        <Extracted data={extracted} />
      ) : (
        !extraction_problem && <Text c="dimmed">{t('result.nothing')}</Text>
      )}
    </Section>
  )
}

function Extracted({ data }: { data: Record<string, unknown> }) {
  const { t } = useTranslation('calls')
  return (
    <Table verticalSpacing={6} layout="fixed">
      <caption className="visually-hidden">{t('result.extracted')}</caption>
      <Table.Thead className="visually-hidden">
        <Table.Tr>
          <Table.Th scope="col">{t('result.field')}</Table.Th>
          <Table.Th scope="col">{t('result.value')}</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {Object.entries(data).map(([field, value]) => (
          <Table.Tr key={field}>
            <Table.Th scope="row" w="35%" fw={500}>
              {field}
            </Table.Th>
            <Table.Td>
              <Value of={value} />
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  )
}

const isPlain = (value: unknown) => typeof value === 'string' || typeof value === 'number'

/** Shows text as is, lists of text on one line, and everything else as JSON. */
function Value({ of: value }: { of: unknown }) {
  const { t } = useTranslation()
  if (value === null || value === undefined || value === '') return '–'
  if (typeof value === 'boolean') return t(value ? 'yes' : 'no')
  if (isPlain(value)) return String(value)
  if (Array.isArray(value) && value.every(isPlain)) return value.length > 0 ? value.join(', ') : '–'
  return (
    <Code block style={{ whiteSpace: 'pre-wrap' }}>
      {JSON.stringify(value, null, 2)}
    </Code>
  )
}
