/** The home page: first steps, with completed ones marked, and recent calls. */
import { Badge, Button, Card, Group, SimpleGrid, Stack, Text, ThemeIcon, Title } from '@mantine/core'
import { IconHash, IconKey, IconMicrophone, IconPencil } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { Link, Navigate } from 'react-router'
import { balanceQuery, numbersQuery, projectsQuery, sessionQuery } from '../api/queries.ts'
import { RecentCalls } from '../calls/recent.tsx'
import { money, number } from '../ui/format.ts'
import { Page } from '../ui/page.tsx'
import { Answered } from '../ui/states.tsx'
import { stepsQuery } from './queries.ts'

const icons = { talk: IconMicrophone, edit: IconPencil, key: IconKey, number: IconHash }

export default function Home() {
  const { t } = useTranslation('home')
  const { data: session } = useQuery(sessionQuery)
  const projects = useQuery({ ...projectsQuery, enabled: session?.role !== 'billing' })
  if (session?.role === 'billing') return <Navigate to="/balance" replace />
  return (
    <Page title={t('title')}>
      <Text>{t('lead')}</Text>
      <Trial />
      <Answered of={projects}>{list => <Steps projectId={list.at(-1)?.id ?? null} />}</Answered>
      <RecentCalls title={t('recent')} none={t('none')} />
    </Page>
  )
}

function Trial() {
  const { t } = useTranslation('home')
  const { data } = useQuery(balanceQuery)
  if (!data) return null
  const minutes = Math.floor(Number(data.balance.amount) / Number(data.minute_price.amount))
  return (
    <Card withBorder>
      <Text fw={650} size="xl">
        {t('trial', { amount: money(data.balance) })}
      </Text>
      {Number.isFinite(minutes) && <Text c="dimmed">{t('trialHint', { minutes: number(minutes) })}</Text>}
    </Card>
  )
}

function Steps({ projectId }: { projectId: string | null }) {
  const { t } = useTranslation('home')
  const { data: done } = useQuery(stepsQuery(projectId))
  const numbers = useQuery(numbersQuery)
  const bound = numbers.data?.items.some(({ bindings }) => bindings.length > 0) ?? false
  const project = projectId === null ? '/projects' : `/projects/${projectId}`
  const steps = [
    { word: 'talk', to: `${project}?talk=1`, done: done?.talked },
    { word: 'edit', to: project, done: done?.edited },
    { word: 'key', to: '/access', done: done?.keyed },
    { word: 'number', to: '/trunks', done: bound },
  ] as const
  const next = steps.findIndex(step => !step.done)
  return (
    <SimpleGrid component="ol" cols={{ base: 1, sm: 2 }} p={0} m={0} style={{ listStyle: 'none' }}>
      {steps.map((step, index) => {
        const Icon = icons[step.word]
        return (
          <Card component="li" withBorder key={step.word}>
            <Stack gap="xs" h="100%">
              <Group justify="space-between">
                <Group gap="xs">
                  <ThemeIcon variant="light" aria-hidden>
                    <Icon size={16} />
                  </ThemeIcon>
                  <Title order={2} size="h4">
                    {index + 1}. {t(`steps.${step.word}.title`)}
                  </Title>
                </Group>
                {step.done && <Badge variant="light">{t('done')}</Badge>}
              </Group>
              <Text c="dimmed" flex={1}>
                {t(`steps.${step.word}.text`)}
              </Text>
              <Button
                component={Link}
                to={step.to}
                variant={index === next ? 'filled' : 'default'}
                style={{ alignSelf: 'flex-start' }}
              >
                {t(`steps.${step.word}.action`)}
              </Button>
            </Stack>
          </Card>
        )
      })}
    </SimpleGrid>
  )
}
