/**
 * Keeps browser calls outside of React components, so that a panel that remounts elsewhere (for example in a drawer,
 * after the window gets narrower) finds its call again. A call that no panel shows is hung up.
 */
import { queryClient } from '../api/queries.ts'
import type { CallEvent } from '../conversation/events.ts'
import { type Line, withLatency, withSaid, withToolFinished, withToolStarted } from '../conversation/story.ts'
import type { AgentState, Dialogue, DialogueEvents, Seat } from './room.ts'

export type TalkState = 'ready' | 'microphone' | 'connecting' | 'failed' | 'ended' | AgentState

/** Creates the session of a call; called once the microphone is available. */
export type Invite = () => Promise<Seat>

export interface Talk {
  state: TalkState
  lines: readonly Line[]
  /** ID of the call, once an agent has joined. */
  callId: string | null
  /** Null while the call is in progress. `reason` is the API's `ended_reason`, if it was reported. */
  ended: { reason: string | null } | null
  problem: unknown
  dialogue: Dialogue | null
  isStarting: boolean
  /** Whether the call's record is available. */
  isStored: boolean
}

const nothing: Talk = {
  state: 'ready',
  lines: [],
  callId: null,
  ended: null,
  problem: null,
  dialogue: null,
  isStarting: false,
  isStored: false,
}

/** Grace period in ms for a panel to remount in another place. */
const LEFT_MS = 500

const dialogues = new Map<string, TalkStore>()

export function talkOf(projectId: string): TalkStore {
  const known = dialogues.get(projectId)
  if (known) return known
  const made = new TalkStore(() => dialogues.delete(projectId))
  dialogues.set(projectId, made)
  return made
}

export class TalkStore {
  #talk = nothing
  #stopping = new AbortController()
  readonly #shownBy = new Set<() => void>()
  readonly #onLeft: () => void

  constructor(onLeft: () => void) {
    this.#onLeft = onLeft
  }

  readonly talk = (): Talk => this.#talk

  readonly subscribe = (changed: () => void): (() => void) => {
    this.#shownBy.add(changed)
    return () => {
      this.#shownBy.delete(changed)
      setTimeout(() => this.#leaveIfUnseen(), LEFT_MS)
    }
  }

  #leaveIfUnseen(): void {
    if (this.#shownBy.size > 0) return
    this.#onLeft()
    this.hangUp()
  }

  readonly hangUp = (): void => {
    this.#stopping.abort()
    void this.#talk.dialogue?.hangUp()
  }

  /** Starts the call. Rejects if it can't start; the state reports the error too. */
  async start(invite: Invite): Promise<void> {
    this.#stopping = new AbortController()
    const { signal } = this.#stopping
    this.#set({ ...nothing, state: 'microphone', isStarting: true })
    try {
      const { openDialogue } = await import('./room.ts')
      const dialogue = await openDialogue(() => this.#connect(invite), this.#events(), signal)
      this.#set({ dialogue, isStarting: false })
    } catch (error) {
      if (signal.aborted) return this.#set(nothing)
      this.#set({ state: 'failed', problem: error, isStarting: false })
      throw error
    }
  }

  #connect(invite: Invite): Promise<Seat> {
    this.#set({ state: 'connecting' })
    return invite()
  }

  #events(): DialogueEvents {
    return {
      state: state => this.#set({ state }),
      call: callId => this.#set({ callId }),
      said: said => this.#set({ lines: withSaid(this.#talk.lines, said) }),
      ended: ({ reason, problem }) =>
        this.#set({ dialogue: null, isStarting: false, state: 'ended', ended: { reason }, problem }),
    }
  }

  /** The call's events report latency and tool calls; `nth` counts the tools of one reading. */
  follow(event: CallEvent, nth: number): void {
    const { lines } = this.#talk
    if (event.type === 'turn.finished') this.#set({ lines: withLatency(lines, event.turn, event.latency) })
    if (event.type === 'tool.started') this.#set({ lines: withToolStarted(lines, event.name, nth) })
    if (event.type === 'tool.finished') this.#set({ lines: withToolFinished(lines, event.tool) })
    if (event.type !== 'call.ended') return
    this.#set({ isStored: true })
    for (const key of ['calls', 'balance', 'first steps']) void queryClient.invalidateQueries({ queryKey: [key] })
  }

  #set(change: Partial<Talk>): void {
    this.#talk = { ...this.#talk, ...change }
    for (const changed of this.#shownBy) changed()
  }
}
