import { ActionIcon, Group } from '@mantine/core'
import { IconArrowDown, IconArrowUp, IconTrash } from '@tabler/icons-react'
import { useTranslation } from 'react-i18next'
import { useDraft } from './form.ts'

interface ListButtonsProps {
  /** Path of the list in the form. */
  path: string
  index: number
  count: number
  /** Name of the item in the accessible labels. */
  name: string
  /** Whether the order matters; if so, items can be moved. */
  ordered?: boolean
}

export function ListButtons({ path, index, count, name, ordered = false }: ListButtonsProps) {
  const { t } = useTranslation('projects')
  const form = useDraft()
  const move = (to: number) => form.reorderListItem(path, { from: index, to })
  return (
    <Group gap={2} wrap="nowrap">
      {ordered && count > 1 && (
        <>
          <ActionIcon
            variant="subtle"
            color="gray"
            disabled={index === 0}
            onClick={() => move(index - 1)}
            aria-label={t('list.up', { name })}
          >
            <IconArrowUp size={16} />
          </ActionIcon>
          <ActionIcon
            variant="subtle"
            color="gray"
            disabled={index === count - 1}
            onClick={() => move(index + 1)}
            aria-label={t('list.down', { name })}
          >
            <IconArrowDown size={16} />
          </ActionIcon>
        </>
      )}
      <ActionIcon
        variant="subtle"
        color="red"
        onClick={() => form.removeListItem(path, index)}
        aria-label={t('list.remove', { name })}
      >
        <IconTrash size={16} />
      </ActionIcon>
    </Group>
  )
}
