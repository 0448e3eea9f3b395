import { Button, Group, Select, Stack, TagsInput, Textarea, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { api } from '../api/client.ts'
import { fieldErrors } from '../api/problems.ts'
import { must, queryClient } from '../api/queries.ts'
import { notify } from '../ui/notify.ts'
import { ProblemAlert } from '../ui/states.tsx'
import { type Contact, contactQuery, type LeadStatus, leadStatuses } from './queries.ts'

interface Values {
  name: string
  notes: string
  tags: string[]
  /** Empty string means none. */
  lead_status: LeadStatus | ''
}

const valuesOf = ({ name, notes, tags, lead_status }: Contact): Values => ({
  name: name ?? '',
  notes: notes ?? '',
  tags,
  lead_status: lead_status ?? '',
})

const TAG_MAX = 64
const TAGS_MAX = 50

export function ContactForm({ contact }: { contact: Contact }) {
  const { t } = useTranslation('contacts')
  const { t: common } = useTranslation()
  const form = useForm<Values>({
    initialValues: valuesOf(contact),
    validate: { tags: tags => (tags.some(tag => tag.length > TAG_MAX) ? t('tagLong') : null) },
  })
  const save = useMutation({
    mutationFn: (body: Values) =>
      must(api.PATCH('/v1/public/contacts/{contact_id}', { params: { path: { contact_id: contact.id } }, body })),
    onSuccess(after) {
      queryClient.setQueryData(contactQuery(contact.id).queryKey, after)
      void queryClient.invalidateQueries({ queryKey: ['contacts'] })
      form.setInitialValues(valuesOf(after))
      form.reset()
      notify(common('saved'))
    },
    onError: error => form.setErrors(fieldErrors(common, error)),
  })
  const lead = form.getInputProps('lead_status')
  return (
    <form onSubmit={form.onSubmit(values => save.mutate(values))}>
      <Stack>
        <TextInput label={t('name')} maxLength={200} {...form.getInputProps('name')} />
        <Select
          label={t('leadStatus')}
          placeholder={t('noLead')}
          clearable
          data={leadStatuses.map(value => ({ value, label: t(`leadStatuses.${value}`) }))}
          {...lead}
          value={lead.value || null}
          onChange={value => lead.onChange(value ?? '')}
        />
        <TagsInput
          label={t('tags')}
          description={t('tagsHint')}
          maxTags={TAGS_MAX}
          clearable
          {...form.getInputProps('tags')}
        />
        <Textarea
          label={t('notes')}
          autosize
          minRows={3}
          maxRows={12}
          maxLength={10_000}
          {...form.getInputProps('notes')}
        />
        <ProblemAlert error={save.error} />
        <Group>
          <Button type="submit" loading={save.isPending} disabled={!form.isDirty()}>
            {common('save')}
          </Button>
        </Group>
      </Stack>
    </form>
  )
}
