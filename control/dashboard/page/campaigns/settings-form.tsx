/** The campaign settings form. */
import {
  Button,
  Chip,
  Fieldset,
  Group,
  Input,
  type InputWrapperProps,
  NumberInput,
  Select,
  SimpleGrid,
  Stack,
  Switch,
  Textarea,
  TextInput,
} from '@mantine/core'
import { type UseFormReturnType, useForm } from '@mantine/form'
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { fieldErrors } from '../api/problems.ts'
import { balanceQuery, ParleyError, projectsQuery } from '../api/queries.ts'
import { namedOptions } from '../ui/options.ts'
import { ProblemAlert } from '../ui/states.tsx'
import { weekdayName } from './hours.ts'
import { faultsOf, type Values, weekdays } from './params.ts'
import { isZone } from './wall-clock.ts'

type Form = UseFormReturnType<Values>

interface SettingsFormProps {
  initial: Values
  /** Whether the campaign has started, so that its project and task are fixed. */
  fixed?: boolean
  submitLabel: string
  /** Rejects if the API refuses the values. */
  onSubmit: (values: Values) => Promise<unknown>
  error: unknown
  busy: boolean
  children?: ReactNode
  onProject?: (id: string, form: Form) => void
}

export function SettingsForm({ initial, fixed = false, onSubmit, error, ...props }: SettingsFormProps) {
  const { t } = useTranslation('campaigns')
  const { t: common } = useTranslation()
  const form = useForm<Values>({
    initialValues: initial,
    validate: values => {
      const faults = Object.entries(faultsOf(values, isZone))
      return Object.fromEntries(faults.map(([path, fault]) => [path, t(`form.faults.${fault}`)]))
    },
  })
  const submit = async (values: Values) => {
    try {
      await onSubmit(values)
    } catch (reason) {
      form.setErrors(fieldErrors(common, reason))
      if (reason instanceof ParleyError && reason.code === 'moderation_rejected')
        form.setFieldError('task', t('form.faults.moderation'))
    }
  }
  return (
    <form onSubmit={form.onSubmit(submit)} noValidate>
      <Stack>
        <What form={form} fixed={fixed} onProject={props.onProject} />
        <When form={form} />
        <HowMuch form={form} />
        <ProblemAlert error={error} />
        <Group>
          <Button type="submit" loading={props.busy}>
            {props.submitLabel}
          </Button>
          {props.children}
        </Group>
      </Stack>
    </form>
  )
}

function What({ form, fixed, onProject }: { form: Form; fixed: boolean; onProject: SettingsFormProps['onProject'] }) {
  const { t } = useTranslation('campaigns')
  const { data: projects = [] } = useQuery(projectsQuery)
  const project = form.getInputProps('project_id')
  return (
    <Fieldset legend={t('form.what')}>
      <Stack>
        <TextInput
          required
          label={t('form.name')}
          description={t('form.nameHint')}
          maxLength={200}
          {...form.getInputProps('name')}
        />
        <Select
          required
          searchable
          disabled={fixed}
          label={t('form.project')}
          description={fixed ? t('form.fixed') : t('form.projectHint')}
          nothingFoundMessage={t('form.noProjects')}
          data={namedOptions(projects)}
          {...project}
          value={project.value || null}
          onChange={id => {
            project.onChange(id ?? '')
            if (id) onProject?.(id, form)
          }}
        />
        <Textarea
          disabled={fixed}
          autosize
          minRows={3}
          maxRows={12}
          maxLength={8000}
          label={t('form.task')}
          description={t('form.taskHint', { name: '{{name}}', city: '{{city}}' })}
          {...form.getInputProps('task')}
        />
      </Stack>
    </Fieldset>
  )
}

/** Aligns inputs that stand side by side, whatever the length of their descriptions. */
const hintBelow: InputWrapperProps['inputWrapperOrder'] = ['label', 'input', 'error', 'description']

const zones = () => [...new Set(['UTC', ...Intl.supportedValuesOf('timeZone')])]

function When({ form }: { form: Form }) {
  const { t } = useTranslation('campaigns')
  const { timezone } = form.values.params
  const known = zones()
  return (
    <Fieldset legend={t('form.when')}>
      <Stack>
        <SimpleGrid cols={{ base: 1, sm: 2 }}>
          <Select
            required
            searchable
            inputWrapperOrder={hintBelow}
            limit={100}
            label={t('form.timezone')}
            description={t('form.timezoneHint')}
            data={timezone === '' || known.includes(timezone) ? known : [timezone, ...known]}
            {...form.getInputProps('params.timezone')}
            value={timezone || null}
            onChange={zone => form.setFieldValue('params.timezone', zone ?? '')}
          />
          <TextInput
            type="datetime-local"
            inputWrapperOrder={hintBelow}
            label={t('form.scheduled')}
            description={t('form.scheduledHint')}
            {...form.getInputProps('params.scheduled_start_at')}
          />
        </SimpleGrid>
        <Days form={form} />
        <Hours form={form} />
      </Stack>
    </Fieldset>
  )
}

function Days({ form }: { form: Form }) {
  const { t } = useTranslation('campaigns')
  const { value, onChange, error } = form.getInputProps('params.days')
  return (
    <Input.Wrapper
      label={t('form.days')}
      description={t('form.daysHint')}
      error={error}
      labelElement="div"
      role="group"
      aria-label={t('form.days')}
    >
      <Chip.Group multiple value={value} onChange={onChange}>
        <Group gap="xs" mt={4}>
          {weekdays.map(day => (
            <Chip key={day} value={day} size="sm" aria-label={weekdayName(day, 'long')}>
              {weekdayName(day)}
            </Chip>
          ))}
        </Group>
      </Chip.Group>
    </Input.Wrapper>
  )
}

function Hours({ form }: { form: Form }) {
  const { t } = useTranslation('campaigns')
  const quiet = form.values.params.quiet_hours.on
  return (
    <SimpleGrid cols={{ base: 1, sm: 2 }}>
      <Input.Wrapper label={t('form.window')} description={t('form.windowHint')} labelElement="div">
        <SimpleGrid cols={2} mt="xs">
          <TextInput type="time" label={t('form.from')} {...form.getInputProps('params.window_start')} />
          <TextInput type="time" label={t('form.to')} {...form.getInputProps('params.window_end')} />
        </SimpleGrid>
      </Input.Wrapper>
      <Stack gap="xs">
        <Switch
          label={t('form.quiet')}
          description={t('form.quietHint')}
          {...form.getInputProps('params.quiet_hours.on', { type: 'checkbox' })}
        />
        {quiet && (
          <SimpleGrid cols={2}>
            <TextInput type="time" label={t('form.quietFrom')} {...form.getInputProps('params.quiet_hours.start')} />
            <TextInput type="time" label={t('form.quietTo')} {...form.getInputProps('params.quiet_hours.end')} />
          </SimpleGrid>
        )}
      </Stack>
    </SimpleGrid>
  )
}

function HowMuch({ form }: { form: Form }) {
  const { t } = useTranslation('campaigns')
  const { data: balance } = useQuery(balanceQuery)
  const count = (path: 'concurrency' | 'retries' | 'retry_interval_min') => ({
    inputWrapperOrder: hintBelow,
    allowDecimal: false,
    // Report out-of-range values instead of clamping them silently.
    clampBehavior: 'none' as const,
    allowNegative: false,
    ...form.getInputProps(`params.${path}`),
  })
  return (
    <Fieldset legend={t('form.much')}>
      <Stack>
        <SimpleGrid cols={{ base: 1, sm: 3 }}>
          <NumberInput
            min={1}
            max={100}
            label={t('form.concurrency')}
            description={t('form.concurrencyHint')}
            {...count('concurrency')}
          />
          <NumberInput
            min={0}
            max={5}
            label={t('form.retries')}
            description={t('form.retriesHint')}
            {...count('retries')}
          />
          <NumberInput
            min={1}
            max={1440}
            label={t('form.interval')}
            description={t('form.intervalHint')}
            {...count('retry_interval_min')}
          />
        </SimpleGrid>
        <SimpleGrid cols={{ base: 1, sm: 2 }}>
          <TextInput
            inputMode="decimal"
            inputWrapperOrder={hintBelow}
            label={t('form.maxSpend')}
            description={t('form.maxSpendHint', { currency: balance?.balance.currency ?? '' })}
            {...form.getInputProps('params.max_spend')}
          />
          <Switch
            mt={{ sm: 'xl' }}
            label={t('form.topUp')}
            description={t('form.topUpHint')}
            {...form.getInputProps('params.resume_on_top_up', { type: 'checkbox' })}
          />
        </SimpleGrid>
      </Stack>
    </Fieldset>
  )
}
