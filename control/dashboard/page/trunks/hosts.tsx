import { ActionIcon, Button, Group, Input, NumberInput, Select, Stack, TextInput } from '@mantine/core'
import { IconPlus, IconTrash } from '@tabler/icons-react'
import { useTranslation } from 'react-i18next'
import { type FieldsProps, transports } from './fields-basic.tsx'

const MOST_HOSTS = 10

/** Backup servers, tried in order. */
export function Hosts({ form }: FieldsProps) {
  const { t } = useTranslation('trunks')
  const { hosts } = form.values
  return (
    <Stack gap="xs" align="flex-start">
      <div>
        <Input.Label component="div">{t('fields.hosts')}</Input.Label>
        <Input.Description>{t('hints.hosts')}</Input.Description>
      </div>
      {hosts.map((_, index) => (
        <Group
          // biome-ignore lint/suspicious/noArrayIndexKey: hosts are identified by their order
          key={index}
          gap="xs"
          align="flex-start"
          w="100%"
        >
          <TextInput
            flex="1 1 200px"
            aria-label={t('hosts.host', { count: index + 1 })}
            placeholder="backup.example.com"
            spellCheck={false}
            autoCapitalize="none"
            {...form.getInputProps(`hosts.${index}.host`)}
          />
          <NumberInput
            w={90}
            aria-label={t('hosts.port', { count: index + 1 })}
            placeholder={t('hints.portEmpty')}
            min={1}
            max={65_535}
            allowDecimal={false}
            hideControls
            {...form.getInputProps(`hosts.${index}.port`)}
          />
          <Select
            w={90}
            aria-label={t('hosts.transport', { count: index + 1 })}
            data={transports}
            allowDeselect={false}
            {...form.getInputProps(`hosts.${index}.transport`)}
          />
          <ActionIcon
            size={36}
            variant="subtle"
            color="red"
            onClick={() => form.removeListItem('hosts', index)}
            aria-label={t('hosts.remove', { count: index + 1 })}
          >
            <IconTrash size={16} aria-hidden />
          </ActionIcon>
        </Group>
      ))}
      {hosts.length < MOST_HOSTS && (
        <Button
          variant="default"
          size="compact-sm"
          leftSection={<IconPlus size={14} aria-hidden />}
          onClick={() => form.insertListItem('hosts', { host: '', port: 5060, transport: 'udp' })}
        >
          {t('hosts.add')}
        </Button>
      )}
    </Stack>
  )
}
