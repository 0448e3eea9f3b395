/** Retention periods for the personal data of calls. A shorter period deletes data soon, so it needs confirmation. */
import { Button, Group, List, NumberInput, Paper, Radio, Stack, Text, Title } from '@mantine/core'
import { type UseFormReturnType, useForm } from '@mantine/form'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { api } from '../api/client.ts'
import { must, queryClient } from '../api/queries.ts'
import type { Schemas } from '../api/types.ts'
import { Confirm } from '../ui/confirm.tsx'
import { number } from '../ui/format.ts'
import { Notice } from '../ui/notice.tsx'
import { notify } from '../ui/notify.ts'
import { Answered, ProblemAlert } from '../ui/states.tsx'
import { retentionQuery } from './queries.ts'
import { type Kind, kinds, MOST_DAYS, numbersGoFirst, patchOf, shortenedBy, type Values, valuesOf } from './terms.ts'

export function Retention() {
  const { t } = useTranslation('data')
  const retention = useQuery(retentionQuery)
  return (
    <Stack maw={720}>
      <Text>{t('retention.lead')}</Text>
      <Answered of={retention}>{given => <RetentionForm given={given} />}</Answered>
      <Text size="sm" c="dimmed">
        {t('retention.also')}
      </Text>
    </Stack>
  )
}

type Form = UseFormReturnType<Values>

function RetentionForm({ given }: { given: Schemas['Retention'] }) {
  const { t } = useTranslation('data')
  const { t: common } = useTranslation()
  const form = useRetentionForm(given)
  const send = async (values: Values) => {
    const after = await must(api.PATCH('/v1/public/retention', { body: patchOf(values) }))
    queryClient.setQueryData(retentionQuery.queryKey, after)
    form.setInitialValues(valuesOf(after))
    form.reset()
    notify(common('saved'))
  }
  const save = useMutation({ mutationFn: send })
  const shortened = shortenedBy(given, form.values)
  return (
    <Confirm
      trigger={ask => (
        <form onSubmit={form.onSubmit(values => (shortened.length > 0 ? ask() : save.mutate(values)))} noValidate>
          <Stack>
            {kinds.map(kind => (
              <Term key={kind} kind={kind} form={form} />
            ))}
            {numbersGoFirst(form.values) && (
              <Notice color="orange" title={t('retention.numberFirst')} role="status">
                {t('retention.numberFirstHint')}
              </Notice>
            )}
            <ProblemAlert error={save.error} />
            <Group>
              <Button type="submit" loading={save.isPending} disabled={!form.isDirty()}>
                {common('save')}
              </Button>
            </Group>
          </Stack>
        </form>
      )}
      title={t('retention.shorter')}
      action={t('retention.shorten')}
      onConfirm={() => send(form.values)}
    >
      <Stack gap="xs">
        <Text>{t('retention.shorterHint')}</Text>
        <List size="sm">
          {shortened.map(({ kind, days }) => (
            <List.Item key={kind}>{t(`retention.older.${kind}`, { count: days })}</List.Item>
          ))}
        </List>
      </Stack>
    </Confirm>
  )
}

function useRetentionForm(given: Schemas['Retention']): Form {
  const { t } = useTranslation('data')
  const range = ({ limited, days }: Values[Kind]) =>
    limited && days === '' ? t('retention.range', { most: number(MOST_DAYS) }) : null
  return useForm<Values>({
    initialValues: valuesOf(given),
    validate: values => Object.fromEntries(kinds.map(kind => [`${kind}.days`, range(values[kind])])),
  })
}

/** The setting of one kind of data: no limit, or a number of days. */
function Term({ kind, form }: { kind: Kind; form: Form }) {
  const { t } = useTranslation('data')
  const what = t(`retention.kinds.${kind}`)
  const { limited, days } = form.values[kind]
  return (
    <Paper withBorder p="md" component="section" aria-label={what}>
      <Stack gap="sm">
        <Title order={2} size="h4">
          {what}
        </Title>
        <Radio.Group
          aria-label={what}
          description={t(`retention.means.${kind}`)}
          value={limited ? 'limited' : 'forever'}
          onChange={value => form.setFieldValue(`${kind}.limited`, value === 'limited')}
        >
          <Stack gap="xs" mt="sm">
            <Radio value="forever" label={t('retention.forever')} />
            <Radio value="limited" label={t('retention.limited')} />
          </Stack>
        </Radio.Group>
        {limited && (
          <NumberInput
            w={160}
            ml={28}
            label={t('retention.days')}
            aria-label={t('retention.daysOf', { what })}
            min={1}
            max={MOST_DAYS}
            allowDecimal={false}
            allowNegative={false}
            value={days}
            onChange={value => form.setFieldValue(`${kind}.days`, typeof value === 'number' ? value : '')}
            error={form.errors[`${kind}.days`]}
          />
        )}
      </Stack>
    </Paper>
  )
}
