import { Alert, Button, Group, NumberInput, Paper, Stack, TagsInput, Text, TextInput, Title } from '@mantine/core'
import { type UseFormReturnType, useForm } from '@mantine/form'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useNavigate } from 'react-router'
import { api } from '../api/client.ts'
import { fieldErrors } from '../api/problems.ts'
import { must, ParleyError } from '../api/queries.ts'
import { ProblemAlert } from '../ui/states.tsx'
import { Estimate } from './estimate.tsx'
import { type Brief, jobsQuery, type Parsed } from './queries.ts'
import { Sources } from './sources.tsx'
import { Terms } from './terms.tsx'

export interface SearchWish {
  brief_parsed: Brief
  accept_terms: boolean
}

interface BriefFormProps {
  raw: string
  parsed: Parsed
}

/** Starts the search and opens its page. */
export function BriefForm({ raw, parsed }: BriefFormProps) {
  const { t } = useTranslation('leads')
  const { t: common } = useTranslation()
  const navigate = useNavigate()
  const client = useQueryClient()
  const jobs = useQuery(jobsQuery)
  const [asked, setAsked] = useState(false)
  // Accounts that have searched before have accepted the terms; if the terms have changed, the server asks again.
  const needsTerms = asked || jobs.data?.total === 0
  const form = useForm<SearchWish>({
    initialValues: { brief_parsed: parsed.brief_parsed, accept_terms: false },
    validate: {
      brief_parsed: {
        niche: text => (text.trim() === '' ? t('brief.needed') : null),
        geo: text => (text.trim() === '' ? t('brief.needed') : null),
        target_leads: count => (Number.isInteger(count) && count >= 1 && count <= 1000 ? null : t('brief.needsTarget')),
      },
      accept_terms: accepted => (needsTerms && !accepted ? t('terms.needed') : null),
    },
    // Show missing fields at once.
    initialErrors: Object.fromEntries(parsed.missing.map(part => [`brief_parsed.${part}`, t(`missing.${part}`)])),
  })
  const start = useMutation({
    mutationFn: ({ brief_parsed, accept_terms }: SearchWish) =>
      must(
        api.POST('/v1/public/lead-search', {
          body: { brief_raw: raw, brief_parsed, ...(accept_terms ? { accept_terms } : {}) },
        }),
      ),
    onSuccess({ id }) {
      client.invalidateQueries({ queryKey: ['leads'] })
      client.invalidateQueries({ queryKey: ['balance'] })
      navigate(`/leads/${id}`)
    },
    onError(error) {
      if (error instanceof ParleyError && error.code === 'terms_not_accepted') setAsked(true)
      form.setErrors(errorsOf(fieldErrors(common, error), error, t('brief.rejected')))
    },
  })
  const leads = form.values.brief_parsed.target_leads
  return (
    <form onSubmit={form.onSubmit(values => start.mutate(values))} noValidate>
      <Stack>
        <Paper withBorder p="md">
          <Fields form={form} missing={parsed.missing} />
        </Paper>
        <Estimate price={parsed.estimate.price_per_lead} leads={Number.isInteger(leads) ? leads : 0} />
        <Sources sources={parsed.sources} />
        {needsTerms && <Terms {...form.getInputProps('accept_terms', { type: 'checkbox' })} />}
        <ProblemAlert error={start.error} />
        <Group>
          <Button type="submit" loading={start.isPending} disabled={parsed.sources.length === 0}>
            {t('brief.start')}
          </Button>
          <Text size="sm" c="dimmed">
            {t('brief.startHint')}
          </Text>
        </Group>
      </Stack>
    </form>
  )
}

/** Reports the error of a list item at the list field. */
function errorsOf(errors: Record<string, string>, error: unknown, rejected: string): Record<string, string> {
  const isRejected = error instanceof ParleyError && error.code === 'moderation_rejected'
  const found = Object.entries(errors).map(([path, text]) => [path.replace(/\.\d+$/, ''), isRejected ? rejected : text])
  return Object.fromEntries(found)
}

const lists = ['signals', 'exclusions', 'queries'] as const

function Fields({ form, missing }: { form: UseFormReturnType<SearchWish>; missing: Parsed['missing'] }) {
  const { t } = useTranslation('leads')
  return (
    <Stack>
      <Title order={2} size="h4">
        {t('brief.title')}
      </Title>
      <Text size="sm" c="dimmed">
        {t('brief.titleHint')}
      </Text>
      {missing.length > 0 && (
        <Alert color="orange" variant="outline" role="status">
          {t('brief.missing', { parts: missing.map(part => t(`brief.fields.${part}`)).join(', ') })}
        </Alert>
      )}
      <Group grow align="flex-start" preventGrowOverflow={false}>
        {(['niche', 'geo'] as const).map(part => (
          <TextInput
            key={part}
            required
            miw={220}
            maxLength={200}
            label={t(`brief.fields.${part}`)}
            description={t(`brief.hints.${part}`)}
            {...form.getInputProps(`brief_parsed.${part}`)}
          />
        ))}
      </Group>
      <NumberInput
        required
        maw={260}
        min={1}
        max={1000}
        allowDecimal={false}
        label={t('brief.fields.target_leads')}
        description={t('brief.hints.target_leads')}
        {...form.getInputProps('brief_parsed.target_leads')}
      />
      {lists.map(part => (
        <TagsInput
          key={part}
          label={t(`brief.fields.${part}`)}
          description={t(`brief.hints.${part}`)}
          maxTags={20}
          maxLength={200}
          clearable={false}
          splitChars={[',', ';']}
          {...form.getInputProps(`brief_parsed.${part}`)}
        />
      ))}
    </Stack>
  )
}
