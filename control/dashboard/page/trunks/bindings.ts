/** Looks up the bindings of a number. */
import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { projectsQuery } from '../api/queries.ts'
import type { Schemas } from '../api/types.ts'

export type NumberItem = Schemas['Number']
export type Way = 'in' | 'out'

/** Returns the project that a number is bound to in a direction. */
export const boundTo = ({ bindings }: NumberItem, way: Way): string | null =>
  bindings.find(({ direction }) => direction === way || direction === 'both')?.project_id ?? null

export function useProjectName(): (id: string) => string {
  const { t } = useTranslation('trunks')
  const { data } = useQuery(projectsQuery)
  return id => data?.find(project => project.id === id)?.name ?? t('numbers.someProject')
}
