import { Button, Group, Paper, Select, SimpleGrid, Stack, Text, TextInput } from '@mantine/core'
import { IconPlus } from '@tabler/icons-react'
import { useTranslation } from 'react-i18next'
import { Section } from '../ui/section.tsx'
import type { TransferDraft } from './draft.ts'
import { useDraft } from './form.ts'
import { ListButtons } from './list-buttons.tsx'
import { nextKey } from './schema.ts'
import { TextField } from './texts.tsx'

const MOST = 10
const fresh = (): TransferDraft => ({ key: nextKey(), name: '', kind: 'phone', to: '', description: '', announce: '' })

export default function TransfersTab() {
  const { t } = useTranslation('projects')
  const form = useDraft()
  const { transfers } = form.values
  return (
    <Section title={t('tabs.transfers')} hint={t('transfers.hint')}>
      {transfers.map((transfer, index) => (
        <OneTransfer key={transfer.key} transfer={transfer} index={index} count={transfers.length} />
      ))}
      {transfers.length === 0 && (
        <Text size="sm" c="dimmed">
          {t('transfers.empty')}
        </Text>
      )}
      {transfers.length < MOST && (
        <Button
          variant="default"
          leftSection={<IconPlus size={16} aria-hidden />}
          onClick={() => form.insertListItem('transfers', fresh())}
          style={{ alignSelf: 'flex-start' }}
        >
          {t('transfers.add')}
        </Button>
      )}
    </Section>
  )
}

function OneTransfer({ transfer, index, count }: { transfer: TransferDraft; index: number; count: number }) {
  const { t } = useTranslation('projects')
  const { t: common } = useTranslation()
  const form = useDraft()
  const at = `transfers.${index}`
  const name = transfer.name || t('transfers.one', { place: index + 1 })
  return (
    <Paper withBorder p="sm" role="group" aria-label={name}>
      <Stack gap="sm">
        <Group justify="space-between" wrap="nowrap">
          <Text fw={600} size="sm">
            {name}
          </Text>
          <ListButtons path="transfers" index={index} count={count} name={name} />
        </Group>
        <SimpleGrid cols={{ base: 1, sm: 3 }}>
          <TextInput
            required
            maxLength={100}
            label={common('name')}
            placeholder={t('transfers.nameHint')}
            {...form.getInputProps(`${at}.name`)}
          />
          <Select
            allowDeselect={false}
            label={t('transfers.kind')}
            data={(['phone', 'sip', 'browser'] as const).map(value => ({
              value,
              label: t(`transfers.kinds.${value}`),
            }))}
            {...form.getInputProps(`${at}.kind`)}
          />
          {transfer.kind !== 'browser' && (
            <TextInput
              required
              maxLength={255}
              type={transfer.kind === 'phone' ? 'tel' : 'text'}
              label={t(`transfers.kinds.${transfer.kind}`)}
              placeholder={transfer.kind === 'phone' ? '+14155550100' : 'sip:team@pbx.example.com'}
              {...form.getInputProps(`${at}.to`)}
            />
          )}
        </SimpleGrid>
        <TextField path={`${at}.description`} label={t('transfers.when')} maxLength={2000} minRows={1} />
        {transfer.kind === 'browser' ? (
          <Text size="sm" c="dimmed">
            {t('transfers.browserHint')}
          </Text>
        ) : (
          <TextField
            path={`${at}.announce`}
            label={t('transfers.announce')}
            hint={t('transfers.announceHint', { about: '{{about}}' })}
            maxLength={1000}
            minRows={1}
            except="about"
          />
        )}
      </Stack>
    </Paper>
  )
}
