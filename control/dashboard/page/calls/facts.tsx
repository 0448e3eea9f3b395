import { Anchor, Code, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { Link } from 'react-router'
import { projectsQuery } from '../api/queries.ts'
import { duration, exactTime, money } from '../ui/format.ts'
import { Goal, usePartyName } from './columns.tsx'
import { type CallDetail, campaignNameQuery, contactNameQuery } from './queries.ts'
import { Section } from './section.tsx'

/** Call details: parties, times, cost. */
export function Facts({ call }: { call: CallDetail }) {
  const { t } = useTranslation('calls')
  const party = usePartyName()
  const time = (iso: string | null) => iso && exactTime(iso)
  const answered = call.answered_at !== null
  const length = (seconds: number | null) => (seconds === null ? null : duration(seconds))
  return (
    <Section title={t('page.facts')}>
      <dl className="call-facts">
        <Fact name={t('facts.direction')}>{t(`direction.${call.direction}`)}</Fact>
        <Fact name={t('facts.from')}>{party(call.from)}</Fact>
        <Fact name={t('facts.to')}>{party(call.to)}</Fact>
        <Fact name={t('facts.project')}>
          <ProjectLink id={call.project_id} />
        </Fact>
        <Fact name={t('facts.created')}>{time(call.created_at)}</Fact>
        <Fact name={t('facts.answered')}>{time(call.answered_at)}</Fact>
        <Fact name={t('facts.ended')}>{time(call.ended_at)}</Fact>
        <Fact name={t('facts.duration')}>{answered && length(call.duration_seconds)}</Fact>
        <Fact name={t('facts.billed')}>{answered && length(call.billed_seconds)}</Fact>
        <Fact name={t('facts.cost')}>{call.cost && money(call.cost)}</Fact>
        <Fact name={t('facts.goal')}>
          {answered && call.goal_reached !== null && <Goal reached={call.goal_reached} />}
        </Fact>
        <Fact name={t('facts.answeredBy')}>{call.answered_by && t(`answeredBy.${call.answered_by}`)}</Fact>
        <Fact name={t('facts.sipCode')}>{call.sip_code}</Fact>
        <Fact name={t('facts.contact')}>{call.contact_id && <ContactLink id={call.contact_id} />}</Fact>
        <Fact name={t('facts.campaign')}>{call.campaign_id && <CampaignLink id={call.campaign_id} />}</Fact>
        <Fact name={t('facts.id')}>
          <Code>{call.id}</Code>
        </Fact>
      </dl>
    </Section>
  )
}

/** Renders nothing if the value is empty. */
function Fact({ name, children }: { name: string; children: ReactNode }) {
  if (children === null || children === undefined || children === false) return null
  return (
    <div>
      <Text component="dt" size="xs" c="dimmed">
        {name}
      </Text>
      <Text component="dd" size="sm" m={0}>
        {children}
      </Text>
    </div>
  )
}

function NamedLink({ to, children }: { to: string; children: ReactNode }) {
  return (
    <Anchor component={Link} to={to} size="sm">
      {children}
    </Anchor>
  )
}

function ProjectLink({ id }: { id: string }) {
  const { t } = useTranslation('calls')
  const { data } = useQuery(projectsQuery)
  const name = data?.find(project => project.id === id)?.name
  return <NamedLink to={`/projects/${id}`}>{name || t('facts.project')}</NamedLink>
}

function ContactLink({ id }: { id: string }) {
  const { t } = useTranslation('calls')
  const { data } = useQuery(contactNameQuery(id))
  return <NamedLink to={`/contacts/${id}`}>{data?.name || data?.phone || t('facts.contact')}</NamedLink>
}

function CampaignLink({ id }: { id: string }) {
  const { t } = useTranslation('calls')
  const { data } = useQuery(campaignNameQuery(id))
  return <NamedLink to={`/campaigns/${id}`}>{data?.name || t('facts.campaign')}</NamedLink>
}
