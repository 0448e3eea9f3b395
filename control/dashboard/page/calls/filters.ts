/** Filters of the call list, kept in the URL so that they can be shared. */
import { useSearchParams } from 'react-router'
import type { Schemas } from '../api/types.ts'
import { callStatuses } from '../ui/call-status.tsx'

export const directions = ['in', 'out', 'web'] as const satisfies Schemas['Call']['direction'][]

const LIMIT = 50
const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i

export interface CallFilters {
  direction?: Schemas['Call']['direction']
  status?: Schemas['Call']['status']
  project_id?: string
  campaign_id?: string
  limit: number
  offset: number
}
type Filter = 'direction' | 'status' | 'project_id' | 'campaign_id'
const names: Filter[] = ['direction', 'status', 'project_id', 'campaign_id']

const among = <T extends string>(all: readonly T[], value: string | null) => all.find(one => one === value)
const id = (value: string | null) => (value !== null && UUID.test(value) ? value : undefined)

/** Ignores unknown values in the URL. */
export function readFilters(params: URLSearchParams): CallFilters {
  const offset = Number(params.get('offset') ?? 0)
  return {
    direction: among(directions, params.get('direction')),
    status: among(callStatuses, params.get('status')),
    project_id: id(params.get('project_id')),
    campaign_id: id(params.get('campaign_id')),
    limit: LIMIT,
    offset: Number.isSafeInteger(offset) && offset > 0 ? offset : 0,
  }
}

export function useFilters() {
  const [params, setParams] = useSearchParams()
  const change = (set: (next: URLSearchParams) => void) => {
    const next = new URLSearchParams(params)
    set(next)
    setParams(next)
  }
  return {
    filters: readFilters(params),
    filtered: names.some(name => params.has(name)),
    filter: (name: Filter, value: string | null) =>
      change(next => {
        next.delete('offset')
        if (value) next.set(name, value)
        else next.delete(name)
      }),
    reset: () => setParams({}),
    turn: (offset: number) => change(next => (offset > 0 ? next.set('offset', String(offset)) : next.delete('offset'))),
  }
}
