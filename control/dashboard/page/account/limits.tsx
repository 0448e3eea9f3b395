/**
 * Account limits on destinations and daily spend. They limit the damage of a leaked API key, so API keys can't change
 * them.
 */
import { Button, Stack, Switch, TagsInput, Text, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { api } from '../api/client.ts'
import { fieldErrors } from '../api/problems.ts'
import { limitsQuery, must, queryClient } from '../api/queries.ts'
import type { Schemas } from '../api/types.ts'
import { money } from '../ui/format.ts'
import { notify } from '../ui/notify.ts'
import { Answered, ProblemAlert } from '../ui/states.tsx'

export function Limits() {
  const limits = useQuery(limitsQuery)
  return <Answered of={limits}>{given => <LimitsForm given={given} />}</Answered>
}

function LimitsForm({ given }: { given: Schemas['Limits'] }) {
  const { t } = useTranslation('account')
  const { t: common } = useTranslation()
  const form = useForm({
    initialValues: {
      destinations: given.destinations,
      cap: given.max_spend_a_day?.amount ?? '',
      stops: given.stop_unusual_activity,
    },
  })
  const save = useMutation({
    mutationFn: ({ destinations, cap, stops }: typeof form.values) =>
      must(
        api.PATCH('/v1/public/limits', {
          body: {
            destinations,
            max_spend_a_day: cap.trim().replace(',', '.') || null,
            stop_unusual_activity: stops,
          },
        }),
      ),
    onSuccess(limits) {
      queryClient.setQueryData(limitsQuery.queryKey, limits)
      form.setValues({
        destinations: limits.destinations,
        cap: limits.max_spend_a_day?.amount ?? '',
        stops: limits.stop_unusual_activity,
      })
      notify(common('saved'))
    },
    onError(error) {
      const found = Object.entries(fieldErrors(common, error))
      const of = (field: string) => found.find(([path]) => path.startsWith(field))?.[1]
      form.setErrors({ destinations: of('destinations'), cap: of('max_spend_a_day') })
    },
  })
  return (
    <form onSubmit={form.onSubmit(values => save.mutate(values))}>
      <Stack>
        <TagsInput
          label={t('limits.destinations')}
          description={t('limits.destinationsHint')}
          placeholder={form.values.destinations.length === 0 ? '+7' : undefined}
          splitChars={[',', ' ', ';']}
          clearable={false}
          {...form.getInputProps('destinations')}
        />
        <TextInput
          label={t('limits.cap', { currency: given.spent_today.currency })}
          description={t('limits.capHint')}
          inputMode="decimal"
          {...form.getInputProps('cap')}
        />
        <Switch
          label={t('limits.stop')}
          description={t('limits.stopHint')}
          {...form.getInputProps('stops', { type: 'checkbox' })}
        />
        <Text size="sm" c="dimmed">
          {t('limits.spent', { spent: money(given.spent_today), held: money(given.held) })}
        </Text>
        <ProblemAlert error={save.error} />
        <Button type="submit" loading={save.isPending} style={{ alignSelf: 'flex-start' }}>
          {common('save')}
        </Button>
      </Stack>
    </form>
  )
}
