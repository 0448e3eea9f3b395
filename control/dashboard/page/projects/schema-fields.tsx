/** Edits a JSON Schema as form rows or as raw JSON. */
import {
  Alert,
  Button,
  Checkbox,
  Group,
  JsonInput,
  Paper,
  Select,
  SimpleGrid,
  Stack,
  TagsInput,
  Text,
  TextInput,
} from '@mantine/core'
import { IconPlus } from '@tabler/icons-react'
import { useTranslation } from 'react-i18next'
import { useDraft } from './form.ts'
import { ListButtons } from './list-buttons.tsx'
import {
  asForm,
  emptyRow,
  FIELD_TYPES,
  type FieldRow,
  hasOptions,
  parse,
  type SchemaDraft,
  schemaOf,
  showJson,
} from './schema.ts'

interface SchemaFieldsProps {
  path: string
  /** Whether the schema may be absent. A form without rows means no schema. */
  optional?: boolean
}

export function SchemaFields({ path, optional = false }: SchemaFieldsProps) {
  const form = useDraft()
  const { value, error } = form.getInputProps(path) as { value: SchemaDraft; error?: string }
  const set = (draft: SchemaDraft) => {
    form.clearFieldError(path)
    form.setFieldValue(path, draft)
  }
  return (
    <Stack gap="sm">
      {error && (
        <Text size="sm" c="var(--mantine-color-error)" role="alert" data-path={path} tabIndex={-1}>
          {error}
        </Text>
      )}
      {value.mode === 'json' ? (
        <AsJson path={path} draft={value} set={set} optional={optional} />
      ) : (
        <AsRows path={path} draft={value} set={set} />
      )}
    </Stack>
  )
}

interface ModeProps {
  path: string
  draft: SchemaDraft
  set: (draft: SchemaDraft) => void
}

function AsRows({ path, draft, set }: ModeProps) {
  const { t } = useTranslation('projects')
  const form = useDraft()
  const add = () => {
    if (draft.mode === null) set({ ...draft, mode: 'form', rows: [emptyRow()] })
    else form.insertListItem(`${path}.rows`, emptyRow())
  }
  const toJson = () => {
    const schema = schemaOf(draft) ?? { type: 'object', properties: {} }
    set({ mode: 'json', rows: [], rest: {}, text: showJson(schema) })
  }
  return (
    <>
      {draft.rows.map((row, index) => (
        <Row key={row.key} path={path} row={row} index={index} count={draft.rows.length} />
      ))}
      {draft.rows.length === 0 && (
        <Text size="sm" c="dimmed">
          {t('schema.empty')}
        </Text>
      )}
      <Group gap="xs">
        <Button variant="default" leftSection={<IconPlus size={16} aria-hidden />} onClick={add}>
          {t('schema.add')}
        </Button>
        <Button variant="subtle" onClick={toJson}>
          {t('schema.toJson')}
        </Button>
      </Group>
    </>
  )
}

function Row({ path, row, index, count }: { path: string; row: FieldRow; index: number; count: number }) {
  const { t } = useTranslation('projects')
  const { t: common } = useTranslation()
  const form = useDraft()
  const at = `${path}.rows.${index}`
  const name = row.name || t('schema.field', { place: index + 1 })
  const kept = Object.keys(row.rest)
  return (
    <Paper withBorder p="sm" role="group" aria-label={name}>
      <Stack gap="xs">
        <Group align="flex-start" wrap="nowrap" gap="xs">
          <SimpleGrid cols={{ base: 1, sm: 3 }} flex={1} verticalSpacing="xs">
            <TextInput required maxLength={200} label={common('name')} {...form.getInputProps(`${at}.name`)} />
            <Select
              allowDeselect={false}
              label={t('schema.type')}
              data={FIELD_TYPES.map(value => ({ value, label: t(`schema.types.${value}`) }))}
              {...form.getInputProps(`${at}.type`)}
            />
            <Checkbox
              mt={{ base: 0, sm: 30 }}
              label={t('schema.required')}
              {...form.getInputProps(`${at}.required`, { type: 'checkbox' })}
            />
          </SimpleGrid>
          <ListButtons path={`${path}.rows`} index={index} count={count} name={name} />
        </Group>
        {hasOptions(row.type) && (
          <TagsInput
            required
            label={t('schema.options')}
            description={t('schema.optionsHint')}
            {...form.getInputProps(`${at}.options`)}
          />
        )}
        <TextInput
          maxLength={2000}
          label={t('schema.description')}
          placeholder={t('schema.descriptionHint')}
          {...form.getInputProps(`${at}.description`)}
        />
        {kept.length > 0 && (
          <Text size="xs" c="dimmed">
            {t('schema.kept', { keywords: kept.join(', ') })}
          </Text>
        )}
      </Stack>
    </Paper>
  )
}

function AsJson({ path, draft, set, optional }: ModeProps & { optional: boolean }) {
  const { t } = useTranslation('projects')
  const form = useDraft()
  const schema = parse(draft.text)
  const rows = schema && asForm(schema)
  return (
    <>
      {schema && !rows && <Alert color="gray">{t('schema.onlyJson')}</Alert>}
      <JsonInput
        autosize
        minRows={6}
        maxRows={24}
        label={t('schema.json')}
        description={t('schema.jsonHint')}
        styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
        {...form.getInputProps(`${path}.text`)}
      />
      <Group gap="xs">
        <Button variant="default" disabled={!rows} onClick={() => rows && set(rows)}>
          {t('schema.toForm')}
        </Button>
        {optional && (
          <Button variant="subtle" color="red" onClick={() => set({ mode: null, rows: [], rest: {}, text: '' })}>
            {t('schema.clear')}
          </Button>
        )}
      </Group>
    </>
  )
}
