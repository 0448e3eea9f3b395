/** Selects a secret by name, or creates one without leaving the form. */
import { Button, Group, Modal, Select, Stack, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { api } from '../api/client.ts'
import { fieldErrors } from '../api/problems.ts'
import { secretsQuery } from '../api/projects.ts'
import { must, queryClient } from '../api/queries.ts'
import { notify } from '../ui/notify.ts'
import { Password } from '../ui/password.tsx'
import { ProblemAlert } from '../ui/states.tsx'
import { useDraft } from './form.ts'

export function SecretField({ path, required }: { path: string; required: boolean }) {
  const { t } = useTranslation('projects')
  const form = useDraft()
  const { data } = useQuery(secretsQuery)
  const [making, setMaking] = useState(false)
  const { value, onChange: _, ...props } = form.getInputProps(path)
  const names = data?.items.map(({ name }) => name) ?? []
  const lost = value !== '' && data !== undefined && !names.includes(value)
  const choose = (name: string) => form.setFieldValue(path, name)
  return (
    <>
      <Group align="flex-end" gap="xs" wrap="nowrap">
        <Select
          flex={1}
          searchable
          clearable={!required}
          clearButtonProps={{ 'aria-label': t('clear') }}
          allowDeselect={!required}
          required={required}
          label={t('fields.api_key_secret')}
          description={lost ? t('hints.secretLost') : undefined}
          placeholder={required ? t('secrets.choose') : t('secrets.without')}
          nothingFoundMessage={t('secrets.none')}
          data={value === '' || names.includes(value) ? names : [value, ...names]}
          {...props}
          value={value === '' ? null : value}
          onChange={name => choose(name ?? '')}
        />
        <Button variant="default" onClick={() => setMaking(true)} mb={props.error ? 22 : 0}>
          {t('secrets.new')}
        </Button>
      </Group>
      <SecretModal opened={making} onClose={() => setMaking(false)} onSet={choose} />
    </>
  )
}

interface SecretModalProps {
  opened: boolean
  onClose: () => void
  onSet?: (name: string) => void
  /** If set, the dialog replaces the value of this secret. */
  name?: string
}

export function SecretModal({ opened, onClose, onSet, name }: SecretModalProps) {
  const { t } = useTranslation('projects')
  const { t: common } = useTranslation()
  const title = name === undefined ? t('secrets.newTitle') : t('secrets.again', { name })
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      title={title}
      centered
      closeButtonProps={{ 'aria-label': common('close') }}
    >
      <SecretForm onClose={onClose} onSet={onSet} name={name} />
    </Modal>
  )
}

const NAME = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/

function SecretForm({ onClose, onSet, name }: Omit<SecretModalProps, 'opened'>) {
  const { t } = useTranslation('projects')
  const { t: common } = useTranslation()
  const form = useForm({
    initialValues: { name: name ?? '', value: '' },
    validate: {
      name: given => (NAME.test(given) ? null : t('faults.secretName')),
      value: value => (value === '' ? t('faults.required') : null),
    },
  })
  const set = useMutation({
    mutationFn: (body: { name: string; value: string }) => must(api.POST('/v1/public/secrets', { body })),
    async onSuccess(secret) {
      await queryClient.invalidateQueries({ queryKey: secretsQuery.queryKey })
      onSet?.(secret.name)
      notify(t('secrets.set', { name: secret.name }))
      onClose()
    },
    onError: error => form.setErrors(fieldErrors(common, error)),
  })
  return (
    <form
      noValidate
      onSubmit={event => {
        // React bubbles the event to an enclosing form through the modal's portal.
        event.stopPropagation()
        form.onSubmit(values => set.mutate(values))(event)
      }}
    >
      <Stack>
        {name === undefined && (
          <TextInput
            required
            data-autofocus
            maxLength={64}
            autoComplete="off"
            label={common('name')}
            description={t('secrets.nameHint')}
            {...form.getInputProps('name')}
          />
        )}
        <Password
          required
          data-autofocus={name !== undefined || undefined}
          maxLength={8192}
          autoComplete="new-password"
          label={t('secrets.value')}
          description={t('secrets.valueHint')}
          {...form.getInputProps('value')}
        />
        <ProblemAlert error={set.error} />
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            {common('cancel')}
          </Button>
          <Button type="submit" loading={set.isPending}>
            {common('save')}
          </Button>
        </Group>
      </Stack>
    </form>
  )
}
