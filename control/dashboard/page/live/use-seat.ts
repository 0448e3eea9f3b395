/** The operator's own participation in a call. The mode comes from the call's events, not from the request. */
import { useMutation } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import type { MonitorMode } from '../conversation/events.ts'
import { TalkError } from '../conversation/talk-error.ts'
import type { Seat } from './seat.ts'

export interface OwnSeat {
  seat: Seat | null
  /** The mode requested last. */
  wanted: MonitorMode | null
  isPending: boolean
  problem: unknown
  take: (mode: MonitorMode) => void
  leave: () => void
}

interface Told {
  /** Modes of all participants who monitor the call, by monitor ID. */
  modes: Readonly<Record<string, MonitorMode>>
  /** Whether the conversation has ended. */
  isClosing: boolean
}

export function useSeat(callId: string, { modes, isClosing }: Told): OwnSeat {
  const [seat, setSeat] = useState<Seat | null>(null)
  const [problem, setProblem] = useState<unknown>(null)
  const held = useRef<Seat | null>(null)
  const isGone = useRef(false)
  const isOver = useRef(isClosing)
  isOver.current = isClosing
  const hold = (next: Seat | null) => {
    held.current = next
    setSeat(next)
  }
  const change = useMutation({
    async mutationFn(mode: MonitorMode) {
      setProblem(null)
      const { changeSeat, leaveSeat, silence, takeSeat } = await import('./seat.ts')
      if (held.current && mode === 'listen') {
        await silence(held.current)
        hold({ ...held.current, microphone: null })
      }
      const before = held.current
      const taken = before
        ? await changeSeat(callId, before, mode)
        : await takeSeat(callId, mode, () => {
            held.current?.microphone?.stop()
            hold(null)
            // The call may have ended; its events report it a moment later.
            setProblem(new TalkError('lost'))
          })
      if (isGone.current) await leaveSeat(callId, taken, isOver.current)
      else hold(taken)
    },
    onError: setProblem,
  })
  const leave = useMutation({
    async mutationFn() {
      const { current } = held
      hold(null)
      if (current) await (await import('./seat.ts')).leaveSeat(callId, current, isOver.current)
    },
    onError: setProblem,
  })
  useLeftBehind(() => leave.mutate(), isGone)
  // biome-ignore lint/correctness/useExhaustiveDependencies: run once, when the call ends
  useEffect(() => {
    if (isClosing) leave.mutate()
  }, [isClosing])
  useSilenced(seat, modes, change.isPending, hold)
  return {
    seat,
    wanted: change.isPending ? change.variables : null,
    isPending: change.isPending || leave.isPending,
    problem,
    take: change.mutate,
    leave: () => leave.mutate(),
  }
}

/** Leaves the call when the component unmounts or the page closes. */
function useLeftBehind(leave: () => void, isGone: { current: boolean }): void {
  const latest = useRef(leave)
  latest.current = leave
  useEffect(() => {
    isGone.current = false
    const go = () => latest.current()
    window.addEventListener('pagehide', go)
    return () => {
      isGone.current = true
      window.removeEventListener('pagehide', go)
      go()
    }
  }, [isGone])
}

/** If a colleague takes over, this operator becomes a listener and the microphone must be off. */
function useSilenced(
  seat: Seat | null,
  modes: Readonly<Record<string, MonitorMode>>,
  isPending: boolean,
  hold: (seat: Seat) => void,
): void {
  const mode = (seat && modes[seat.id]) ?? null
  const before = useRef<MonitorMode | null>(null)
  const latest = useRef(hold)
  latest.current = hold
  useEffect(() => {
    // The event for the requested mode may arrive late; react only to a change to listening.
    const isTaken = mode === 'listen' && before.current !== null && before.current !== 'listen'
    before.current = mode
    if (!isTaken || !seat?.microphone || isPending) return
    void import('./seat.ts').then(({ silence }) => silence(seat))
    latest.current({ ...seat, microphone: null })
  }, [seat, mode, isPending])
}
