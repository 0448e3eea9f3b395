/**
 * Dialogues stand outside of what shows them: a panel that moves to another place of the page, because the window got
 * narrower, finds its own again. One that nobody shows is hung up.
 */
import { api } from '../api/client.ts'
import { must, queryClient } from '../api/queries.ts'
import type { CallEvent } from './events.ts'
import type { AgentState, Dialogue, DialogueEvents } from './room.ts'
import { type Line, withLatency, withSaid, withToolFinished, withToolStarted } from './story.ts'

export type TalkState = 'ready' | 'microphone' | 'connecting' | 'failed' | 'ended' | AgentState

export interface SessionInput {
  project_id: string
  task?: string
  vars?: Record<string, string>
}

export interface Talk {
  state: TalkState
  lines: readonly Line[]
  /** The call that it is, once an agent is there. */
  callId: string | null
  /** Null: it has not ended. `reason`: an `ended_reason` of the API where one was told. */
  ended: { reason: string | null } | null
  problem: unknown
  dialogue: Dialogue | null
  isStarting: boolean
  /** The call's record is there. */
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

/** For a panel to come back in another place. */
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

  /** Rejects with why it could not begin; the talk says so too. */
  async start(body: SessionInput): Promise<void> {
    this.#stopping = new AbortController()
    const { signal } = this.#stopping
    this.#set({ ...nothing, state: 'microphone', isStarting: true })
    try {
      const { openDialogue } = await import('./room.ts')
      const dialogue = await openDialogue(() => this.#invite(body), this.#events(), signal)
      this.#set({ dialogue, isStarting: false })
    } catch (error) {
      if (signal.aborted) return this.#set(nothing)
      this.#set({ state: 'failed', problem: error, isStarting: false })
      throw error
    }
  }

  async #invite(body: SessionInput) {
    this.#set({ state: 'connecting' })
    const { url, token } = await must(api.POST('/v1/public/realtime/session', { body }))
    return { url, token: token! } // it is missing in replays only, and nothing is replayed here
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

  /** How long each answer took and which tools were used is told by the call; `nth` counts the tools of one reading. */
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
