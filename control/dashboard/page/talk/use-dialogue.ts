/** A project's dialogue as a panel shows it. */
import { useMutation } from '@tanstack/react-query'
import { useMemo, useSyncExternalStore } from 'react'
import { useEvents } from '../api/events.ts'
import { type SessionInput, type Talk, type TalkStore, talkOf } from './dialogues.ts'
import { type CallEvent, eventsOf } from './events.ts'

export interface Dialogue extends Talk {
  start: (body: SessionInput) => void
  hangUp: () => void
}

export function useDialogue(projectId: string): Dialogue {
  const store = useMemo(() => talkOf(projectId), [projectId])
  const talk = useSyncExternalStore(store.subscribe, store.talk)
  const start = useMutation({ mutationFn: (body: SessionInput) => store.start(body) })
  useFollowed(store, talk.callId)
  return { ...talk, start: start.mutate, hangUp: store.hangUp }
}

/** The events of a call are read from the first on, by each panel anew. */
function useFollowed(store: TalkStore, callId: string | null): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: another call has other tools
  const tools = useMemo(() => ({ started: 0 }), [callId])
  useEvents<CallEvent>(
    callId === null ? null : eventsOf(callId),
    ['turn.finished', 'tool.started', 'tool.finished', 'call.ended'],
    event => {
      if (event.type === 'tool.started') tools.started++
      store.follow(event, tools.started)
      return event.type === 'call.ended' ? 'end' : undefined
    },
  )
}
