/** Adds many numbers, a few at a time. Rejected numbers are reported and do not stop the others. */
import { useRef, useState } from 'react'
import { api } from '../api/client.ts'
import { must, ParleyError, queryClient } from '../api/queries.ts'

export interface Line {
  /** The text as pasted. */
  text: string
  /** E.164; null if the text is not a possible number. */
  phone: string | null
}

export interface AddingState {
  running: boolean
  total: number
  listed: number
  refused: { text: string; error: unknown }[]
}

const SIDE_BY_SIDE = 4
/** Pause in ms that lets the API's per-minute rate limit refill. */
const PAUSE_MS = 3000

async function list(phone: string, note: string): Promise<void> {
  for (;;) {
    try {
      await must(api.POST('/v1/public/do-not-call', { body: { phone, ...(note === '' ? {} : { note }) } }))
      return
    } catch (error) {
      if (!(error instanceof ParleyError) || error.code !== 'rate_limited') throw error
      await new Promise(resolve => setTimeout(resolve, PAUSE_MS))
    }
  }
}

export function useAdding() {
  const [state, setState] = useState<AddingState | null>(null)
  const stopped = useRef(false)

  async function add(lines: readonly Line[], note: string): Promise<void> {
    stopped.current = false
    const phones = lines.flatMap(({ text, phone }) => (phone === null ? [] : [{ text, phone }]))
    const now: AddingState = { running: true, total: phones.length, listed: 0, refused: [] }
    const show = (running = true) => setState({ ...now, running, refused: [...now.refused] })
    const queue = phones.values()
    show()
    const work = async () => {
      for (const { text, phone } of queue) {
        if (stopped.current) return
        try {
          await list(phone, note)
          now.listed++
        } catch (error) {
          now.refused.push({ text, error })
        }
        show()
      }
    }
    await Promise.all(Array.from({ length: SIDE_BY_SIDE }, work))
    show(false)
    void queryClient.invalidateQueries({ queryKey: ['do-not-call'] })
  }

  return {
    state,
    add,
    stop() {
      stopped.current = true
    },
    reset: () => setState(null),
  }
}
