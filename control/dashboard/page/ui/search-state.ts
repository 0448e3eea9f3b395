/** Filters and the page of a list, in the address: they survive a reload, and can be sent to somebody. */
import { useCallback } from 'react'
import { useSearchParams } from 'react-router'

export interface Filters {
  params: URLSearchParams
  /** Of the list's page; whatever else the address says is the first. */
  offset: number
  /** Null or an empty text takes a filter away; a change of filters leads to the first page. */
  set: (changes: Record<string, string | null>) => void
}

export function useFilters(): Filters {
  const [params, setParams] = useSearchParams()
  const set = useCallback(
    (changes: Record<string, string | null>) => {
      setParams(
        before => {
          const next = new URLSearchParams(before)
          for (const [name, value] of Object.entries({ offset: null, ...changes })) {
            if (value) next.set(name, value)
            else next.delete(name)
          }
          return next
        },
        { replace: true },
      )
    },
    [setParams],
  )
  const offset = /^\d{1,9}$/.test(params.get('offset') ?? '') ? Number(params.get('offset')) : 0
  return { params, offset, set }
}

/** One of a closed list; what an address says is anybody's. */
export const oneOf = <T extends string>(value: string | null, list: readonly T[]): T | undefined =>
  list.find(one => one === value)
