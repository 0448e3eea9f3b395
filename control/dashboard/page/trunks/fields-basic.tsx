/** The basic trunk fields. */
import { Alert, Fieldset, Grid, NumberInput, Radio, Select, Stack, Textarea, TextInput } from '@mantine/core'
import type { UseFormReturnType } from '@mantine/form'
import { useTranslation } from 'react-i18next'
import { Password } from '../ui/password.tsx'
import type { TrunkValues } from './values.ts'

export interface FieldsProps {
  form: UseFormReturnType<TrunkValues>
}

const modes = ['register', 'ip', 'both'] as const
export const transports = [
  { value: 'udp', label: 'UDP' },
  { value: 'tcp', label: 'TCP' },
  { value: 'tls', label: 'TLS' },
]

export function Where({ form, hostLike }: FieldsProps & { hostLike?: string | undefined }) {
  const { t } = useTranslation('trunks')
  const { t: common } = useTranslation()
  return (
    <Fieldset legend={t('groups.where')}>
      <Stack>
        <TextInput
          label={common('name')}
          description={t('hints.name')}
          required
          maxLength={200}
          {...form.getInputProps('name')}
        />
        <Grid align="end">
          <Grid.Col span={{ base: 12, sm: 6 }}>
            <TextInput
              label={t('fields.host')}
              placeholder={hostLike ?? 'sip.example.com'}
              description={hostLike ? t('hints.hostLike', { example: hostLike }) : undefined}
              required
              spellCheck={false}
              autoCapitalize="none"
              {...form.getInputProps('host')}
            />
          </Grid.Col>
          <Grid.Col span={{ base: 6, sm: 3 }}>
            <NumberInput
              label={t('fields.port')}
              placeholder={t('hints.portEmpty')}
              min={1}
              max={65_535}
              allowDecimal={false}
              hideControls
              {...form.getInputProps('port')}
            />
          </Grid.Col>
          <Grid.Col span={{ base: 6, sm: 3 }}>
            <Select
              label={t('fields.transport')}
              data={transports}
              allowDeselect={false}
              {...form.getInputProps('transport')}
            />
          </Grid.Col>
        </Grid>
        <Radio.Group label={t('fields.mode')} {...form.getInputProps('mode')}>
          <Stack gap="xs" mt="xs">
            {modes.map(mode => (
              <Radio
                key={mode}
                value={mode}
                label={t(`modes.${mode}.label`)}
                description={t(`modes.${mode}.description`)}
              />
            ))}
          </Stack>
        </Radio.Group>
      </Stack>
    </Fieldset>
  )
}

export function LogIn({ form }: FieldsProps) {
  const { t } = useTranslation('trunks')
  const { t: common } = useTranslation()
  const registers = form.values.mode !== 'ip'
  const was = form.getInitialValues()
  // A saved trunk that registers always has a password: the API requires it.
  const isSet = was.username !== '' && was.mode !== 'ip'
  return (
    <Fieldset legend={t('groups.account')}>
      <Stack>
        <TextInput
          label={t('fields.username')}
          description={registers ? undefined : common('optional')}
          required={registers}
          autoComplete="off"
          spellCheck={false}
          autoCapitalize="none"
          maxLength={255}
          {...form.getInputProps('username')}
        />
        <Password
          label={t('fields.password')}
          description={isSet ? t('hints.passwordSet') : t('hints.password')}
          placeholder={isSet ? '••••••••' : ''}
          required={registers && !isSet}
          autoComplete="new-password"
          maxLength={255}
          {...form.getInputProps('password')}
        />
      </Stack>
    </Fieldset>
  )
}

/** `lost` lists bound numbers that the form removes. */
export function Numbers({ form, lost }: FieldsProps & { lost: string[] }) {
  const { t } = useTranslation('trunks')
  return (
    <Fieldset legend={t('groups.numbers')}>
      <Stack>
        <Textarea
          label={t('fields.numbers')}
          description={t('hints.numbers')}
          placeholder={'+14155550100\n+14155550101'}
          autosize
          minRows={2}
          maxRows={12}
          {...form.getInputProps('numbers')}
        />
        {lost.length > 0 && (
          <Alert color="red" variant="light" role="status">
            {t('lost.text', { count: lost.length, numbers: lost.join(', ') })}
          </Alert>
        )}
      </Stack>
    </Fieldset>
  )
}
