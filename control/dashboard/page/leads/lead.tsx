import { Anchor, List, Stack, Table, Text, Title } from '@mantine/core'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { Link } from 'react-router'
import { Dialog } from '../ui/dialog.tsx'
import type { Lead } from './queries.ts'
import { Site } from './site.tsx'
import { useSourceName } from './sources.tsx'
import { LeadStatus } from './status.tsx'

/** Shows all data of a company with its sources. */
export function LeadDialog({ lead, onClose }: { lead: Lead; onClose: () => void }) {
  return (
    <Dialog opened onClose={onClose} title={lead.company} size="lg">
      <Stack>
        <Facts lead={lead} />
        <SignalList lead={lead} />
        <Reasons lead={lead} />
      </Stack>
    </Dialog>
  )
}

function Facts({ lead }: { lead: Lead }) {
  const { t } = useTranslation('leads')
  const { t: common } = useTranslation()
  const nameOf = useSourceName()
  const { phones, emails, website, address, source, attribution, licence, rejection, contact_id } = lead
  const rows: [string, ReactNode][] = [
    [common('status'), <LeadStatus key="status" of={lead} />],
    ...(rejection ? [[t('one.why'), t(`rejections.${rejection.code}`)] as [string, ReactNode]] : []),
    [t('list.phone'), phones.join(', ') || '—'],
    [t('one.email'), emails.join(', ') || '—'],
    [t('list.website'), <Site key="website" address={website} />],
    [t('one.address'), address ?? '—'],
    [t('one.source'), [nameOf(source), attribution, licence].filter(Boolean).join(' · ')],
    ...(contact_id ? [[t('one.contact'), <Contact key="contact" lead={lead} />] as [string, ReactNode]] : []),
  ]
  return (
    <Table variant="vertical" withRowBorders>
      <Table.Tbody>
        {rows.map(([name, value]) => (
          <Table.Tr key={name}>
            <Table.Th w={150} scope="row">
              {name}
            </Table.Th>
            <Table.Td>{value}</Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  )
}

function Contact({ lead: { phone } }: { lead: Lead }) {
  const { t } = useTranslation('leads')
  return (
    <Anchor component={Link} to={`/contacts?${new URLSearchParams({ q: phone ?? '' })}`} size="sm">
      {t('one.toContact')}
    </Anchor>
  )
}

function SignalList({ lead: { signals } }: { lead: Lead }) {
  const { t } = useTranslation('leads')
  if (signals.length === 0) return null
  return (
    <div>
      <Title order={3} size="h5" mb={4}>
        {t('list.signals')}
      </Title>
      <List size="sm">
        {signals.map(({ signal, present, evidence, where }) => (
          <List.Item key={signal}>
            {signal}: {present ? t('one.present') : t('one.absent')}
            {evidence && <Text size="sm">“{evidence}”</Text>}
            {where && <Where place={where} />}
          </List.Item>
        ))}
      </List>
    </div>
  )
}

/** The URL of a page, or the ID of a source. */
function Where({ place }: { place: string }) {
  const nameOf = useSourceName()
  return (
    <Text size="sm" c="dimmed">
      {/^https?:/.test(place) ? <Site address={place} /> : nameOf(place)}
    </Text>
  )
}

function Reasons({ lead: { score, reasons } }: { lead: Lead }) {
  const { t } = useTranslation('leads')
  if (score === null) return null
  return (
    <div>
      <Title order={3} size="h5" mb={4}>
        {t('one.score', { score })}
      </Title>
      <List size="sm">
        {reasons.map(({ points, text }) => (
          <List.Item key={text}>
            {points > 0 ? '+' : ''}
            {points}: {text}
          </List.Item>
        ))}
      </List>
    </div>
  )
}
