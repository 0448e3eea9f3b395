/** The trunk form: basic fields, with advanced ones in collapsed sections. */
import { Accordion, Button, Group, Stack } from '@mantine/core'
import { useForm } from '@mantine/form'
import { type ReactNode, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { Confirm } from '../ui/confirm.tsx'
import { ProblemAlert } from '../ui/states.tsx'
import { type FieldsProps, LogIn, Numbers, Where } from './fields-basic.tsx'
import { Limits, LogInDetails, Presentation, Servers, Sound, Transfers } from './fields-more.tsx'
import { checks, type Part, parts, partsWith, refusalsOf } from './form-errors.ts'
import { numbersOf, type TrunkValues } from './values.ts'

interface TrunkFormProps {
  initial: TrunkValues
  /** The trunk's current numbers. Removing one unbinds it. */
  owned?: string[]
  action: string
  hostLike?: string | undefined
  /** Saves the values. Resolves to the new initial values; rejects if the API refuses them. */
  onSave: (values: TrunkValues, before: TrunkValues) => Promise<TrunkValues | undefined>
}

export function TrunkForm({ initial, owned = [], action, hostLike, onSave }: TrunkFormProps) {
  const { t } = useTranslation('trunks')
  const { t: common } = useTranslation()
  const [opened, setOpened] = useState<string[]>([])
  const [saving, setSaving] = useState(false)
  const [error, setError] = useState<unknown>(null)
  const form = useForm<TrunkValues>({ initialValues: initial, validate: checks(t) })

  const show = (errors: Record<string, unknown>) => setOpened(before => [...new Set([...before, ...partsWith(errors)])])
  const save = async (values: TrunkValues) => {
    setSaving(true)
    setError(null)
    try {
      const next = await onSave(values, form.getInitialValues())
      if (!next) return
      form.setInitialValues(next)
      form.setValues(next)
    } catch (reason) {
      const errors = refusalsOf(t, common, reason)
      form.setErrors(errors)
      show(errors)
      setError(reason)
    } finally {
      setSaving(false)
    }
  }
  const kept = numbersOf(form.values)
  const lost = owned.filter(number => !kept.includes(number))
  const ask = (open: () => void) => {
    const { errors, hasErrors } = form.validate()
    if (hasErrors) show(errors)
    else open()
  }
  return (
    <form noValidate onSubmit={form.onSubmit(save, show)}>
      <Stack>
        <Where form={form} hostLike={hostLike} />
        <LogIn form={form} />
        <Numbers form={form} lost={lost} />
        <More form={form} opened={opened} onOpen={setOpened} />
        <ProblemAlert error={error} />
        <Group>
          {lost.length === 0 ? (
            <Button type="submit" loading={saving}>
              {action}
            </Button>
          ) : (
            <Confirm
              trigger={open => (
                <Button loading={saving} onClick={() => ask(open)}>
                  {action}
                </Button>
              )}
              title={t('lost.title')}
              action={action}
              onConfirm={() => save(form.values)}
            >
              {t('lost.text', { count: lost.length, numbers: lost.join(', ') })}
            </Confirm>
          )}
        </Group>
      </Stack>
    </form>
  )
}

interface MoreProps extends FieldsProps {
  opened: string[]
  onOpen: (opened: string[]) => void
}

function More({ form, opened, onOpen }: MoreProps) {
  const { t } = useTranslation('trunks')
  const panels: Record<Part, ReactNode> = {
    login: <LogInDetails form={form} />,
    servers: <Servers form={form} />,
    sound: <Sound form={form} />,
    limits: <Limits form={form} />,
    presentation: <Presentation form={form} />,
    transfers: <Transfers form={form} />,
  }
  return (
    <Accordion multiple variant="contained" order={3} value={opened} onChange={onOpen}>
      {parts.map(part => (
        <Accordion.Item key={part} value={part}>
          <Accordion.Control>{t(`groups.${part}`)}</Accordion.Control>
          <Accordion.Panel>
            <Stack>{panels[part]}</Stack>
          </Accordion.Panel>
        </Accordion.Item>
      ))}
    </Accordion>
  )
}
