/** Keeps list filters and the list offset in the URL, so that they survive a reload and can be shared as a link. */
import { useCallback } from 'react'
import { useSearchParams } from 'react-router'

export interface Filters {
  params: URLSearchParams
  /** Offset of the list page; 0 if the URL holds no valid number. */
  offset: number
  /** Sets filters; null or an empty string removes a filter. Every change resets the list to the first page. */
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

/** Returns the list member that equals `value`, or undefined. URLs can hold any value. */
export const oneOf = <T extends string>(value: string | null, list: readonly T[]): T | undefined =>
  list.find(one => one === value)
