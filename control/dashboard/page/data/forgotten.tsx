/** Shows what was erased and where the number is still mentioned. */
import { Anchor, Button, Group, List, Paper, Stack, Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useEffect, useId, useRef } from 'react'
import { useTranslation } from 'react-i18next'
import { Link } from 'react-router'
import { projectsQuery } from '../api/queries.ts'
import { Fact, Facts } from '../ui/facts.tsx'
import { number } from '../ui/format.ts'
import { Notice } from '../ui/notice.tsx'
import { type Erasure, type Mention, sourcesQuery } from './queries.ts'

const counts = ['contacts', 'calls', 'campaign_contacts', 'leads'] as const
/** The API lists at most this many mentions. */
const MOST_MENTIONS = 100

export function Forgotten({ phone, erasure, onMore }: { phone: string; erasure: Erasure; onMore: () => void }) {
  const { t } = useTranslation('data')
  const { t: common } = useTranslation()
  const id = useId()
  const title = useRef<HTMLHeadingElement>(null)
  // Move the focus here: the form that had it is gone.
  useEffect(() => title.current?.focus(), [])
  const known = counts.some(name => erasure[name] > 0)
  return (
    <Paper withBorder p="md" component="section" aria-labelledby={id}>
      <Stack>
        <Title order={2} size="h4" id={id} ref={title} tabIndex={-1}>
          {t('forget.done', { phone })}
        </Title>
        {!known && <Text>{t('forget.nothing')}</Text>}
        <Facts>
          {counts.map(name => (
            <Fact key={name} label={t(`forget.counts.${name}`)}>
              {number(erasure[name])}
            </Fact>
          ))}
          <Fact label={t('forget.counts.list')}>{common(erasure.do_not_call ? 'yes' : 'no')}</Fact>
        </Facts>
        {erasure.mentions.length > 0 && <Mentions of={erasure.mentions} />}
        <Group>
          <Button variant="default" onClick={onMore}>
            {t('forget.another')}
          </Button>
        </Group>
      </Stack>
    </Paper>
  )
}

function Mentions({ of: mentions }: { of: Mention[] }) {
  const { t } = useTranslation('data')
  return (
    <Notice color="orange" title={t('forget.mentions')}>
      <Stack gap="xs">
        <Text size="sm">{t('forget.mentionsHint')}</Text>
        <List size="sm">
          {mentions.map(mention => (
            <List.Item key={`${mention.kind} ${mention.id}`}>
              <WhereItIs mention={mention} />
            </List.Item>
          ))}
        </List>
        {mentions.length === MOST_MENTIONS && (
          <Text size="sm">{t('forget.mentionsMost', { most: number(MOST_MENTIONS) })}</Text>
        )}
      </Stack>
    </Notice>
  )
}

const rooms = { campaign: 'campaigns', lead_search: 'leads', contact: 'contacts', call: 'calls' } as const

function WhereItIs({ mention: { kind, id } }: { mention: Mention }) {
  if (kind === 'knowledge_source') return <Source id={id} />
  if (kind === 'project') return <ProjectLink id={id} />
  return <MentionLink kind={kind} to={`/${rooms[kind]}/${id}`} name={id} />
}

function MentionLink({ kind, to, name }: { kind: Mention['kind']; to: string; name: ReactNode }) {
  const { t } = useTranslation('data')
  return (
    <>
      {t(`forget.kinds.${kind}`)}:{' '}
      <Anchor component={Link} to={to} inherit>
        {name}
      </Anchor>
    </>
  )
}

function ProjectLink({ id }: { id: string }) {
  const { data: projects } = useQuery(projectsQuery)
  return <MentionLink kind="project" to={`/projects/${id}`} name={projects?.find(one => one.id === id)?.name ?? id} />
}

/** Looks up the project of a knowledge source: the API returns only the source's ID. */
function Source({ id }: { id: string }) {
  const { data: projects } = useQuery(projectsQuery)
  const { data: sources } = useQuery({ ...sourcesQuery(projects ?? []), enabled: projects !== undefined })
  const source = sources?.get(id)
  const to = source ? `/projects/${source.projectId}?tab=knowledge` : '/projects'
  return <MentionLink kind="knowledge_source" to={to} name={source?.name ?? id} />
}
