import { Button, Group, NativeSelect, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { callStatuses } from '../ui/call-status.tsx'
import { number } from '../ui/format.ts'
import { namedOptions } from '../ui/options.ts'
import { directions, type useFilters } from './filters.ts'

type FilterBarProps = Pick<ReturnType<typeof useFilters>, 'filters' | 'filtered' | 'filter' | 'reset'> & {
  projects: { id: string; name: string }[]
  total: number | undefined
}

export function FilterBar({ filters, filtered, filter, reset, projects, total }: FilterBarProps) {
  const { t } = useTranslation('calls')
  const { t: common } = useTranslation()
  const choices = (options: { value: string; label: string }[]) => [{ value: '', label: common('all') }, ...options]
  return (
    <Group align="flex-end" gap="sm" role="search" aria-label={t('filters.region')}>
      <NativeSelect
        label={t('filters.direction')}
        value={filters.direction ?? ''}
        onChange={event => filter('direction', event.currentTarget.value)}
        data={choices(directions.map(value => ({ value, label: t(`direction.${value}`) })))}
      />
      <NativeSelect
        label={t('filters.status')}
        value={filters.status ?? ''}
        onChange={event => filter('status', event.currentTarget.value)}
        data={choices(callStatuses.map(value => ({ value, label: t(`statuses.${value}`) })))}
      />
      <NativeSelect
        label={t('filters.project')}
        maw={260}
        value={filters.project_id ?? ''}
        onChange={event => filter('project_id', event.currentTarget.value)}
        data={choices(namedOptions(projects))}
      />
      {filters.campaign_id && <Text size="sm">{t('filters.campaign')}</Text>}
      {filtered && (
        <Button variant="subtle" onClick={reset}>
          {t('reset')}
        </Button>
      )}
      {total !== undefined && (
        <Text size="sm" c="dimmed" ml="auto" role="status" pb={8}>
          {t('filters.total', { count: total, shown: number(total) })}
        </Text>
      )}
    </Group>
  )
}
