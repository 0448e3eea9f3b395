import { Anchor, Button, Group, List, Paper, Stack, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { ProblemAlert } from '../ui/states.tsx'
import type { Key } from './draft.ts'
import { tabOf, useDraft, useEditing } from './form.ts'

interface SaveBarProps {
  conflicts: Key[]
  error: unknown
  onDiscard: () => void
  /** Called with the path of the invalid field to open. */
  onFault: (path: string) => void
}

/** Sticky bar, visible while there are unsaved changes. */
export function SaveBar({ conflicts, error, onDiscard, onFault }: SaveBarProps) {
  const { t } = useTranslation('projects')
  const { t: common } = useTranslation()
  const { dirty, save, saving } = useEditing()
  return (
    <section aria-label={t('unsaved.title')} className="save-bar">
      {dirty && (
        <Paper withBorder shadow="md" p="sm">
          <Stack gap="xs">
            <ProblemAlert error={error} />
            <Faults onFault={onFault} />
            {conflicts.length > 0 && (
              <Text size="sm" role="status">
                {t('unsaved.conflict', { fields: conflicts.map(key => t(`fields.${key}`)).join(', ') })}
              </Text>
            )}
            <Group justify="space-between" gap="xs">
              <Text size="sm" fw={600} role="status">
                {t('unsaved.title')}
              </Text>
              <Group gap="xs" wrap="nowrap">
                <Button variant="default" onClick={onDiscard} disabled={saving}>
                  {t('unsaved.discard')}
                </Button>
                <Button onClick={save} loading={saving}>
                  {common('save')}
                </Button>
              </Group>
            </Group>
          </Stack>
        </Paper>
      )}
    </section>
  )
}

/** Lists the errors of all tabs; each links to its field. */
function Faults({ onFault }: { onFault: (path: string) => void }): ReactNode {
  const { t } = useTranslation('projects')
  const { errors } = useDraft()
  const found = Object.entries(errors)
  if (found.length === 0) return null
  return (
    <div role="alert">
      <List size="sm" aria-label={t('unsaved.faults')}>
        {found.map(([path, message]) => (
          <List.Item key={path}>
            <Anchor component="button" type="button" size="sm" onClick={() => onFault(path)}>
              {t(`tabs.${tabOf(path)}`)}: {t(`fields.${path.split('.')[0] as Key}`)}
            </Anchor>{' '}
            {message}
          </List.Item>
        ))}
      </List>
    </div>
  )
}
