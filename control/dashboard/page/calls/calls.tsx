import { Button } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { IconPhonePlus } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense } from 'react'
import { useTranslation } from 'react-i18next'
import { projectsQuery } from '../api/queries.ts'
import { Dialog } from '../ui/dialog.tsx'
import { Page } from '../ui/page.tsx'
import { Answered, Empty, Waiting } from '../ui/states.tsx'
import { ListTable } from '../ui/table.tsx'
import { useCallColumns } from './columns.tsx'
import { FilterBar } from './filter-bar.tsx'
import { useFilters } from './filters.ts'
import { callsQuery } from './queries.ts'

const PlaceCall = lazy(() => import('../live/place-call.tsx').then(({ PlaceCall }) => ({ default: PlaceCall })))

export default function Calls() {
  const { t } = useTranslation('calls')
  const [placing, { open, close }] = useDisclosure()
  return (
    <Page
      title={t('title')}
      actions={
        <Button leftSection={<IconPhonePlus size={18} aria-hidden />} onClick={open}>
          {t('call')}
        </Button>
      }
    >
      <List />
      <Dialog opened={placing} onClose={close} title={t('callTitle')}>
        <Suspense fallback={<Waiting />}>
          <PlaceCall />
        </Suspense>
      </Dialog>
    </Page>
  )
}

function List() {
  const { t } = useTranslation('calls')
  const { filters, filtered, filter, reset, turn } = useFilters()
  const calls = useQuery(callsQuery(filters))
  const projects = useQuery(projectsQuery)
  const names = new Map(projects.data?.map(({ id, name }) => [id, name]))
  const columns = useCallColumns(names)
  return (
    <>
      <FilterBar
        filters={filters}
        filtered={filtered}
        filter={filter}
        reset={reset}
        projects={projects.data ?? []}
        total={calls.data?.total}
      />
      <Answered of={calls}>
        {list => (
          <ListTable
            label={t('list')}
            columns={columns}
            list={list}
            rowKey={({ id }) => id}
            onOffset={turn}
            minWidth={960}
            empty={
              filtered ? (
                <Empty title={t('noneFound')}>
                  <Button variant="default" onClick={reset}>
                    {t('reset')}
                  </Button>
                </Empty>
              ) : (
                <Empty title={t('none')}>{t('noneHint')}</Empty>
              )
            }
          />
        )}
      </Answered>
    </>
  )
}
