import { Checkbox, MultiSelect, NativeSelect, Stack, TagsInput, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { api } from '../api/client.ts'
import { fieldErrors } from '../api/problems.ts'
import { must, projectsQuery } from '../api/queries.ts'
import { Dialog } from '../ui/dialog.tsx'
import { FormEnd } from '../ui/form-end.tsx'
import { type Key, scopes } from './queries.ts'

const lifetimes = ['never', '30', '90', '365', 'date'] as const
const DAY_MS = 24 * 3600 * 1000

interface Values {
  name: string
  scopes: Key['scopes']
  lifetime: (typeof lifetimes)[number]
  /** Value of the date input, in the browser's time zone. */
  date: string
  addresses: string[]
  projects: string[]
}

function expiryOf({ lifetime, date }: Values): string | null {
  if (lifetime === 'never') return null
  return new Date(lifetime === 'date' ? date : Date.now() + Number(lifetime) * DAY_MS).toISOString()
}

/** The form shows an error of one entry of a list at the whole list. */
function formErrors(errors: Record<string, string>): Record<string, string> {
  const fields = { project_ids: 'projects' } as Record<string, string>
  return Object.fromEntries(
    Object.entries(errors).map(([path, message]) => {
      const [field = ''] = path.split('.')
      return [fields[field] ?? field, message]
    }),
  )
}

interface KeyFormProps {
  opened: boolean
  onClose: () => void
  /** Receives the key's value. */
  onMade: (value: string | undefined) => void
}

export function KeyForm(props: KeyFormProps) {
  const { t } = useTranslation('access')
  return (
    <Dialog opened={props.opened} onClose={props.onClose} title={t('keys.create')} centered>
      <Fields {...props} />
    </Dialog>
  )
}

function Fields({ onClose, onMade }: KeyFormProps) {
  const { t } = useTranslation('access')
  const { t: common } = useTranslation()
  const client = useQueryClient()
  const projects = useQuery(projectsQuery)
  const form = useForm<Values>({
    initialValues: { name: '', scopes: ['read', 'write'], lifetime: 'never', date: '', addresses: [], projects: [] },
    validate: {
      name: name => (name.trim() === '' ? t('keys.needsName') : null),
      scopes: given => (given.length === 0 ? t('keys.needsScope') : null),
      date: (date, { lifetime }) =>
        lifetime !== 'date' || Date.parse(date) > Date.now() ? null : t('keys.needsFuture'),
    },
  })
  const create = useMutation({
    mutationFn: (values: Values) => {
      const { name, scopes: given, addresses, projects: ids } = values
      const body = {
        name,
        scopes: given,
        expires_at: expiryOf(values),
        addresses: addresses.length > 0 ? addresses : null,
        project_ids: ids.length > 0 ? ids : null,
      }
      return must(api.POST('/v1/public/keys', { body }))
    },
    // Don't cache the key's value: it is only shown once.
    gcTime: 0,
    onSuccess({ value }) {
      client.invalidateQueries({ queryKey: ['keys'] })
      onMade(value)
    },
    onError: error => form.setErrors(formErrors(fieldErrors(common, error))),
  })
  return (
    <form onSubmit={form.onSubmit(values => create.mutate(values))} noValidate>
      <Stack>
        <TextInput
          data-autofocus
          required
          maxLength={100}
          label={common('name')}
          description={t('keys.nameHint')}
          {...form.getInputProps('name')}
        />
        <Checkbox.Group label={t('keys.scopes')} {...form.getInputProps('scopes')}>
          <Stack gap="xs" mt={4}>
            {scopes.map(scope => (
              <Checkbox
                key={scope}
                value={scope}
                label={t(`scopes.${scope}.name`)}
                description={t(`scopes.${scope}.text`)}
              />
            ))}
          </Stack>
        </Checkbox.Group>
        <NativeSelect
          label={t('keys.expires')}
          data={lifetimes.map(value => ({ value, label: t(`keys.lifetimes.${value}`) }))}
          {...form.getInputProps('lifetime')}
        />
        {form.values.lifetime === 'date' && (
          <TextInput type="datetime-local" label={t('keys.expiresAt')} {...form.getInputProps('date')} />
        )}
        <TagsInput
          label={t('keys.addresses')}
          description={t('keys.addressesHint')}
          splitChars={[',', ' ']}
          {...form.getInputProps('addresses')}
        />
        <MultiSelect
          label={t('keys.projects')}
          description={t('keys.projectsHint')}
          data={(projects.data ?? []).map(({ id, name }) => ({ value: id, label: name }))}
          {...form.getInputProps('projects')}
        />
        <FormEnd submit={t('keys.create')} error={create.error} busy={create.isPending} onCancel={onClose} />
      </Stack>
    </form>
  )
}
