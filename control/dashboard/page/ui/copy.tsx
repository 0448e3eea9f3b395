import { ActionIcon, Code, CopyButton, Group, ScrollArea, Tooltip } from '@mantine/core'
import { IconCheck, IconCopy } from '@tabler/icons-react'
import { useTranslation } from 'react-i18next'

export function CopyIcon({ value, label }: { value: string; label?: string }) {
  const { t } = useTranslation()
  return (
    <CopyButton value={value}>
      {({ copied, copy }) => (
        <Tooltip label={copied ? t('copied') : (label ?? t('copy'))}>
          <ActionIcon variant="subtle" onClick={copy} aria-label={label ?? t('copy')}>
            {copied ? <IconCheck size={16} /> : <IconCopy size={16} />}
          </ActionIcon>
        </Tooltip>
      )}
    </CopyButton>
  )
}

/** A code block with a copy button, for keys, configurations and commands. */
export function CopyBlock({ value, label }: { value: string; label: string }) {
  return (
    <Group gap="xs" wrap="nowrap" align="flex-start">
      <ScrollArea type="auto" flex={1} viewportProps={{ tabIndex: 0, role: 'region', 'aria-label': label }}>
        {/* The surrounding ScrollArea scrolls; it has an accessible name and takes the focus. */}
        <Code block w="max-content" miw="100%" style={{ overflow: 'visible' }}>
          {value}
        </Code>
      </ScrollArea>
      <CopyIcon value={value} label={label} />
    </Group>
  )
}
