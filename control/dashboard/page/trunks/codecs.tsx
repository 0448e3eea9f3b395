import { ActionIcon, Checkbox, Group, Stack } from '@mantine/core'
import { IconArrowDown, IconArrowUp } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { type Codec, codecs } from './values.ts'

interface CodecsProps {
  value: Codec[]
  onChange: (value: Codec[]) => void
  error?: ReactNode
}

/** Selects the codecs and the order in which they are offered. */
export function Codecs({ value, onChange, error }: CodecsProps) {
  const { t } = useTranslation('trunks')
  const rest = codecs.filter(codec => !value.includes(codec))
  const move = (from: number, by: -1 | 1) => {
    const next = [...value]
    const [codec] = next.splice(from, 1)
    next.splice(from + by, 0, codec!)
    onChange(next)
  }
  return (
    <Checkbox.Group
      label={t('fields.codecs')}
      description={t('hints.codecs')}
      error={error}
      value={value}
      onChange={next => onChange(next as Codec[])}
    >
      <Stack gap={4} mt="xs">
        {[...value, ...rest].map((codec, index) => (
          <Group key={codec} gap="xs">
            <Checkbox w={140} value={codec} label={codec} />
            {value.includes(codec) && (
              <>
                <ActionIcon
                  variant="subtle"
                  disabled={index === 0}
                  onClick={() => move(index, -1)}
                  aria-label={t('codecs.up', { codec })}
                >
                  <IconArrowUp size={16} aria-hidden />
                </ActionIcon>
                <ActionIcon
                  variant="subtle"
                  disabled={index === value.length - 1}
                  onClick={() => move(index, 1)}
                  aria-label={t('codecs.down', { codec })}
                >
                  <IconArrowDown size={16} aria-hidden />
                </ActionIcon>
              </>
            )}
          </Group>
        ))}
      </Stack>
    </Checkbox.Group>
  )
}
