/** Input fields for the arguments of a tool, generated from its parameters. */
import { JsonInput, NumberInput, Select, TagsInput, TextInput } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { type FieldRow, parse, type SchemaDraft } from './schema.ts'

type Value = string | number | string[]
export interface Arguments {
  /** Values by parameter name; a missing entry means that the argument is not sent. */
  fields: Record<string, Value>
  /** All arguments as JSON, if the parameters can't be shown as a form. */
  text: string
}

/** Returns the arguments as the model would send them, or null if the text is not a JSON object. */
export function argumentsOf({ mode, rows }: SchemaDraft, { fields, text }: Arguments): Record<string, unknown> | null {
  if (mode === 'json') return parse(text)
  const given = rows.flatMap(({ name, type }) => {
    const value = fields[name]
    return value === undefined || value === '' ? [] : [[name.trim(), typed(type, value)] as const]
  })
  return Object.fromEntries(given)
}

function typed(type: FieldRow['type'], value: Value): unknown {
  if (type === 'boolean') return value === 'true'
  return type === 'numbers' && Array.isArray(value) ? value.map(Number) : value
}

interface ArgumentFieldsProps {
  parameters: SchemaDraft
  values: Arguments
  onChange: (values: Arguments) => void
}

export function ArgumentFields({ parameters, values, onChange }: ArgumentFieldsProps) {
  const { t } = useTranslation('projects')
  if (parameters.mode === 'json') {
    return (
      <JsonInput
        autosize
        minRows={3}
        label={t('trial.arguments')}
        value={values.text}
        onChange={text => onChange({ ...values, text })}
        error={parse(values.text) ? null : t('faults.json')}
      />
    )
  }
  const set = (name: string, value: Value) => onChange({ ...values, fields: { ...values.fields, [name]: value } })
  return parameters.rows.map(row => (
    <Argument key={row.key} row={row} value={values.fields[row.name]} onChange={value => set(row.name, value)} />
  ))
}

interface ArgumentProps {
  row: FieldRow
  value: Value | undefined
  onChange: (value: Value) => void
}

function Argument({ row: { name, type, description, required, options }, value, onChange }: ArgumentProps) {
  const { t: common } = useTranslation()
  const about = { label: name, description: description || undefined, required }
  const one = value === undefined ? null : String(value)
  switch (type) {
    case 'number':
    case 'integer':
      return (
        <NumberInput {...about} allowDecimal={type === 'number'} value={(value as number) ?? ''} onChange={onChange} />
      )
    case 'boolean':
      return (
        <Select
          {...about}
          data={[
            { value: 'true', label: common('yes') },
            { value: 'false', label: common('no') },
          ]}
          value={one || null}
          onChange={next => onChange(next ?? '')}
        />
      )
    case 'choice':
      return (
        <Select {...about} data={[...new Set(options)]} value={one || null} onChange={next => onChange(next ?? '')} />
      )
    case 'texts':
    case 'numbers':
    case 'choices':
      return <TagsInput {...about} data={[...new Set(options)]} value={(value as string[]) ?? []} onChange={onChange} />
    default:
      return <TextInput {...about} value={one ?? ''} onChange={event => onChange(event.target.value)} />
  }
}
