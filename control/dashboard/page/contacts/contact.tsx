/** The page of one contact: details, do-not-call status and calls. */
import { Anchor, Badge, Button, Code, Group, Paper, SimpleGrid, Stack, Text, Title } from '@mantine/core'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { Link, useParams } from 'react-router'
import { api } from '../api/client.ts'
import { must, projectsQuery, queryClient } from '../api/queries.ts'
import { Confirm } from '../ui/confirm.tsx'
import { Fact, Facts } from '../ui/facts.tsx'
import { dateTime, duration, number } from '../ui/format.ts'
import { notify } from '../ui/notify.ts'
import { Page } from '../ui/page.tsx'
import { Answered } from '../ui/states.tsx'
import { DataTable } from '../ui/table.tsx'
import { ContactForm } from './contact-form.tsx'
import { DeleteContact } from './delete.tsx'
import { type Contact, callsOfContactQuery, contactQuery } from './queries.ts'

export default function ContactPage() {
  const { contact_id: id = '' } = useParams()
  const { t } = useTranslation('contacts')
  const contact = useQuery(contactQuery(id))
  return (
    <Answered of={contact}>
      {data => (
        <Page
          title={data.name ?? data.phone}
          actions={
            <>
              <DoNotCall contact={data} />
              <DeleteContact contact={data} />
            </>
          }
        >
          <SimpleGrid cols={{ base: 1, md: 2 }}>
            <Section title={t('known')}>
              <ContactForm key={data.id} contact={data} />
            </Section>
            <Section title={t('facts')}>
              <Known contact={data} />
            </Section>
          </SimpleGrid>
          <Section title={t('calls.title')}>
            <Calls id={data.id} />
          </Section>
        </Page>
      )}
    </Answered>
  )
}

function Section({ title, children }: { title: string; children: ReactNode }) {
  return (
    <Paper withBorder p="md" component="section" aria-label={title}>
      <Stack>
        <Title order={2} size="h4">
          {title}
        </Title>
        {children}
      </Stack>
    </Paper>
  )
}

function DoNotCall({ contact: { id, phone, do_not_call } }: { contact: Contact }) {
  const { t } = useTranslation('contacts')
  if (do_not_call) {
    return (
      <Button component={Link} to={`/do-not-call?${new URLSearchParams({ q: phone })}`} variant="default">
        {t('listed')}
      </Button>
    )
  }
  const add = async () => {
    await must(api.POST('/v1/public/do-not-call', { body: { phone } }))
    await queryClient.invalidateQueries({ queryKey: ['contact', id] })
    void queryClient.invalidateQueries({ queryKey: ['contacts'] })
    void queryClient.invalidateQueries({ queryKey: ['do-not-call'] })
    notify(t('listedNow'))
  }
  return (
    <Confirm
      trigger={open => (
        <Button variant="outline" color="red" onClick={open}>
          {t('list')}
        </Button>
      )}
      title={t('listTitle', { phone })}
      action={t('list')}
      onConfirm={add}
    >
      <Text>{t('listText')}</Text>
    </Confirm>
  )
}

function Known({ contact }: { contact: Contact }) {
  const { t } = useTranslation('contacts')
  const { t: common } = useTranslation()
  const { data: projects } = useQuery(projectsQuery)
  const { phone, channel, project_ids, last_call_at, do_not_call, consent, created_at } = contact
  return (
    <Facts>
      <Fact label={t('phone')}>{phone}</Fact>
      <Fact label={t('mayBeCalled')}>
        {do_not_call ? (
          <Badge color="red" variant="outline">
            {t('doNotCall')}
          </Badge>
        ) : (
          common('yes')
        )}
      </Fact>
      <Fact label={t('channel')}>{t(`channels.${channel}`)}</Fact>
      <Fact label={t('projects')}>
        <Stack gap={0}>
          {project_ids.map(id => (
            <Text key={id} size="sm">
              {projects?.find(project => project.id === id)?.name ?? t('goneProject')}
            </Text>
          ))}
        </Stack>
      </Fact>
      <Fact label={t('lastCall')}>{last_call_at === null ? t('never') : dateTime(last_call_at)}</Fact>
      <Fact label={common('created')}>{dateTime(created_at)}</Fact>
      <Fact label={t('consent')}>{consent === null ? t('noConsent') : <Consent consent={consent} />}</Fact>
    </Facts>
  )
}

const isTime = (value: string) => /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value)

/** Consent evidence of any shape; timestamps are formatted, other values are shown as they are. */
function Consent({ consent }: { consent: NonNullable<Contact['consent']> }) {
  const shown = Object.entries(consent).filter(([, value]) => value !== null)
  return (
    <Stack gap={2}>
      {shown.map(([key, value]) => (
        <Text key={key} size="sm">
          <Code>{key}</Code>{' '}
          {typeof value !== 'string' ? JSON.stringify(value) : isTime(value) ? dateTime(value) : value}
        </Text>
      ))}
    </Stack>
  )
}

function Calls({ id }: { id: string }) {
  const { t } = useTranslation('contacts')
  const calls = useInfiniteQuery(callsOfContactQuery(id))
  return (
    <Answered of={calls}>
      {({ pages }) => {
        const found = pages.flatMap(page => page.found)
        const { seen, total } = pages.at(-1)!
        return (
          <Stack>
            <DataTable
              label={t('calls.title')}
              minWidth={480}
              items={found}
              rowKey={call => call.id}
              empty={seen < total ? t('calls.noneYet') : t('calls.none')}
              columns={[
                {
                  key: 'at',
                  header: t('calls.at'),
                  cell: call => (
                    <Anchor component={Link} to={`/calls/${call.id}`} size="sm">
                      {dateTime(call.created_at)}
                    </Anchor>
                  ),
                },
                {
                  key: 'direction',
                  header: t('calls.direction'),
                  cell: call => t(`calls.directions.${call.direction}`),
                },
                { key: 'status', header: t('calls.status'), cell: call => t(`calls.statuses.${call.status}`) },
                {
                  key: 'duration',
                  header: t('calls.duration'),
                  align: 'right',
                  cell: call => (call.duration_seconds === null ? '' : duration(call.duration_seconds)),
                },
              ]}
            />
            {seen < total && (
              <Group>
                <Button variant="default" size="xs" loading={calls.isFetching} onClick={() => calls.fetchNextPage()}>
                  {t('calls.older')}
                </Button>
                <Text size="sm" c="dimmed">
                  {t('calls.seen', { seen: number(seen), total: number(total) })}
                </Text>
              </Group>
            )}
          </Stack>
        )
      }}
    </Answered>
  )
}
