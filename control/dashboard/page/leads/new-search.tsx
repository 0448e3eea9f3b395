/** Creates a lead search: description, editable criteria, cost estimate and start. */
import { Anchor, Button, Group, Paper, Stack, Text, Textarea, Title } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { Link } from 'react-router'
import { api } from '../api/client.ts'
import { must } from '../api/queries.ts'
import { Page } from '../ui/page.tsx'
import { ProblemAlert } from '../ui/states.tsx'
import { BriefForm } from './brief-form.tsx'

const LONGEST = 20_000

export default function NewSearch() {
  const { t } = useTranslation('leads')
  const parse = useMutation({
    mutationFn: (brief_raw: string) =>
      must(api.POST('/v1/public/lead-search/parse-brief', { body: { brief_raw } })).then(parsed => ({
        parsed,
        brief_raw,
      })),
  })
  return (
    <Page title={t('begin')}>
      <Anchor component={Link} to="/leads" size="sm">
        {t('back')}
      </Anchor>
      <Paper withBorder p="md">
        <Words onSubmit={raw => parse.mutate(raw)} busy={parse.isPending} understood={parse.data !== undefined} />
        <ProblemAlert error={parse.error} />
      </Paper>
      {parse.data && <BriefForm key={parse.submittedAt} raw={parse.data.brief_raw} parsed={parse.data.parsed} />}
    </Page>
  )
}

interface WordsProps {
  onSubmit: (raw: string) => void
  busy: boolean
  understood: boolean
}

function Words({ onSubmit, busy, understood }: WordsProps) {
  const { t } = useTranslation('leads')
  const form = useForm({
    initialValues: { raw: '' },
    validate: { raw: raw => (raw.trim() === '' ? t('brief.needsWords') : null) },
  })
  return (
    <form onSubmit={form.onSubmit(({ raw }) => onSubmit(raw.trim()))} noValidate>
      <Stack>
        <Title order={2} size="h4">
          {t('brief.wordsTitle')}
        </Title>
        <Textarea
          label={t('brief.words')}
          description={t('brief.wordsHint')}
          placeholder={t('brief.example')}
          maxLength={LONGEST}
          autosize
          minRows={3}
          maxRows={12}
          {...form.getInputProps('raw')}
        />
        <Group>
          <Button type="submit" loading={busy} variant={understood ? 'default' : 'filled'}>
            {understood ? t('brief.again') : t('brief.parse')}
          </Button>
          <Text size="sm" c="dimmed">
            {t('brief.free')}
          </Text>
        </Group>
      </Stack>
    </form>
  )
}
