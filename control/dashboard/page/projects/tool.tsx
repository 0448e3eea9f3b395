import {
  ActionIcon,
  Button,
  Fieldset,
  Group,
  Menu,
  NumberInput,
  Select,
  SimpleGrid,
  Stack,
  Text,
  TextInput,
} from '@mantine/core'
import { IconKey, IconPlus, IconTrash } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { secretsQuery } from '../api/projects.ts'
import type { FillerDraft, ToolDraft } from './draft.ts'
import { useDraft } from './form.ts'
import { nextKey } from './schema.ts'
import { SchemaFields } from './schema-fields.tsx'
import { TextField } from './texts.tsx'

export function ToolFields({ index }: { index: number }) {
  const { t } = useTranslation('projects')
  const { t: common } = useTranslation()
  const form = useDraft()
  const at = `tools.${index}`
  const tool = form.values.tools[index]
  if (!tool) return null
  return (
    <Stack gap="sm">
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        <TextInput
          required
          maxLength={64}
          label={common('name')}
          description={t('tools.nameHint')}
          {...form.getInputProps(`${at}.name`)}
        />
        <NumberInput
          required
          min={1000}
          max={30_000}
          step={1000}
          allowDecimal={false}
          suffix={t('milliseconds')}
          label={t('tools.timeout')}
          description={t('tools.timeoutHint')}
          {...form.getInputProps(`${at}.timeout_ms`)}
        />
      </SimpleGrid>
      <TextField
        path={`${at}.description`}
        label={t('tools.description')}
        hint={t('tools.descriptionHint')}
        maxLength={2000}
      />
      <Group align="flex-start" gap="xs">
        <Select
          w={110}
          allowDeselect={false}
          label={t('tools.method')}
          data={['GET', 'POST']}
          {...form.getInputProps(`${at}.method`)}
        />
        <TextInput
          flex={1}
          miw={220}
          required
          type="url"
          maxLength={2048}
          inputWrapperOrder={['label', 'input', 'error', 'description']}
          label={t('tools.url')}
          description={t('tools.urlHint', { param: '{param}' })}
          placeholder="https://api.example.com/orders/{order_id}"
          {...form.getInputProps(`${at}.url`)}
        />
      </Group>
      <Fieldset legend={t('tools.parameters')}>
        <MissingParams tool={tool} />
        <SchemaFields path={`${at}.parameters`} />
      </Fieldset>
      <FillerFields at={at} filler={tool.filler} />
      <HeaderFields at={at} headers={tool.headers} />
    </Stack>
  )
}

/** Placeholders of the URL that no parameter fills. */
function MissingParams({ tool: { url, parameters } }: { tool: ToolDraft }) {
  const { t } = useTranslation('projects')
  if (parameters.mode === 'json') return null
  const known = parameters.rows.map(({ name }) => name.trim())
  const missing = [...new Set([...url.matchAll(/\{(\w+)\}/g)].map(match => match[1]!))].filter(
    name => !known.includes(name),
  )
  if (missing.length === 0) return null
  return (
    <Text size="sm" mb="xs" role="status">
      {t('tools.missingParams', { names: missing.join(', ') })}
    </Text>
  )
}

const FILLERS = ['default', 'phrase', 'stages', 'silent'] as const
const MOST_STAGES = 5

function FillerFields({ at, filler }: { at: string; filler: FillerDraft }) {
  const { t } = useTranslation('projects')
  const form = useDraft()
  const path = `${at}.filler`
  const refused = form.getInputProps(path).error
  return (
    <Fieldset legend={t('tools.filler.title')}>
      <Stack gap="xs">
        <Select
          allowDeselect={false}
          maw={420}
          aria-label={t('tools.filler.title')}
          data={FILLERS.map(value => ({ value, label: t(`tools.filler.${value}`) }))}
          {...form.getInputProps(`${path}.kind`)}
          error={refused}
        />
        {filler.kind === 'phrase' && (
          <TextInput
            required
            maxLength={500}
            label={t('tools.filler.text')}
            {...form.getInputProps(`${path}.phrase`)}
          />
        )}
        {filler.kind === 'stages' && <Stages path={`${path}.stages`} stages={filler.stages} />}
      </Stack>
    </Fieldset>
  )
}

function Stages({ path, stages }: { path: string; stages: FillerDraft['stages'] }) {
  const { t } = useTranslation('projects')
  const form = useDraft()
  const add = () => {
    const last = Number(stages.at(-1)?.after_ms ?? -1700)
    form.insertListItem(path, { key: nextKey(), after_ms: Math.min(30_000, last + 2000), text: '' })
  }
  return (
    <>
      {stages.map(({ key }, index) => (
        <Group key={key} align="flex-end" gap="xs">
          <NumberInput
            w={130}
            min={0}
            max={30_000}
            step={500}
            allowDecimal={false}
            suffix={t('milliseconds')}
            label={t('tools.filler.after')}
            {...form.getInputProps(`${path}.${index}.after_ms`)}
          />
          <TextInput
            flex="1 1 180px"
            required
            maxLength={500}
            label={t('tools.filler.text')}
            {...form.getInputProps(`${path}.${index}.text`)}
          />
          <ActionIcon
            variant="subtle"
            color="red"
            size="lg"
            onClick={() => form.removeListItem(path, index)}
            aria-label={t('list.remove', { name: t('tools.filler.stage', { place: index + 1 }) })}
          >
            <IconTrash size={16} />
          </ActionIcon>
        </Group>
      ))}
      {stages.length < MOST_STAGES && (
        <Button
          variant="default"
          size="compact-sm"
          leftSection={<IconPlus size={14} aria-hidden />}
          onClick={add}
          style={{ alignSelf: 'flex-start' }}
        >
          {t('tools.filler.add')}
        </Button>
      )}
    </>
  )
}

function HeaderFields({ at, headers }: { at: string; headers: ToolDraft['headers'] }) {
  const { t } = useTranslation('projects')
  const form = useDraft()
  const path = `${at}.headers`
  // The server reports a header by name; the form identifies it by index.
  const refused = Object.entries(form.errors).filter(
    ([where]) => where.startsWith(`${path}.`) && !/^\d+\.(?:name|value)$/.test(where.slice(path.length + 1)),
  )
  return (
    <Fieldset legend={t('tools.headers.title')}>
      <Stack gap="xs">
        {refused.map(([where, message]) => (
          <Text key={where} size="sm" c="var(--mantine-color-error)" role="alert">
            {where.slice(path.length + 1)}: {message}
          </Text>
        ))}
        {headers.map((header, index) => (
          <Header key={header.key} path={path} index={index} name={header.name} value={header.value} />
        ))}
        <Button
          variant="default"
          size="compact-sm"
          leftSection={<IconPlus size={14} aria-hidden />}
          onClick={() => form.insertListItem(path, { key: nextKey(), name: '', value: '' })}
          style={{ alignSelf: 'flex-start' }}
        >
          {t('tools.headers.add')}
        </Button>
      </Stack>
    </Fieldset>
  )
}

function Header({ path, index, name, value }: { path: string; index: number; name: string; value: string }) {
  const { t } = useTranslation('projects')
  const { t: common } = useTranslation()
  const form = useDraft()
  const { data } = useQuery(secretsQuery)
  const insert = (secret: string) => form.setFieldValue(`${path}.${index}.value`, `${value}{{secret:${secret}}}`)
  return (
    <Group align="flex-start" gap="xs" role="group" aria-label={name || t('tools.headers.one')}>
      <TextInput
        flex="1 1 140px"
        maxLength={128}
        aria-label={common('name')}
        placeholder="Authorization"
        {...form.getInputProps(`${path}.${index}.name`)}
      />
      <TextInput
        flex="2 1 120px"
        maxLength={4096}
        aria-label={t('tools.headers.value')}
        placeholder="Bearer {{secret:NAME}}"
        {...form.getInputProps(`${path}.${index}.value`)}
      />
      <Menu position="bottom-end" withinPortal>
        <Menu.Target>
          <ActionIcon variant="default" size={36} aria-label={t('tools.headers.secret')}>
            <IconKey size={16} />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          {data?.items.map(({ name: secret }) => (
            <Menu.Item key={secret} onClick={() => insert(secret)}>
              {secret}
            </Menu.Item>
          ))}
          {data?.items.length === 0 && <Menu.Item disabled>{t('secrets.none')}</Menu.Item>}
        </Menu.Dropdown>
      </Menu>
      <ActionIcon
        variant="subtle"
        color="red"
        size={36}
        onClick={() => form.removeListItem(path, index)}
        aria-label={t('list.remove', { name: name || t('tools.headers.one') })}
      >
        <IconTrash size={16} />
      </ActionIcon>
    </Group>
  )
}
