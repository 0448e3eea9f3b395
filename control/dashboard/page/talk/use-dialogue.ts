/** Connects a panel to the browser call of a project. */
import { useMutation } from '@tanstack/react-query'
import { useMemo, useSyncExternalStore } from 'react'
import { api } from '../api/client.ts'
import { useEvents } from '../api/events.ts'
import { type CallEvent, eventsOf } from '../conversation/events.ts'
import { type Talk, type TalkStore, talkOf } from './dialogues.ts'
import { createSession, type SessionInput } from './session.ts'

export interface Dialogue extends Talk {
  start: (body: SessionInput) => void
  hangUp: () => void
}

export function useDialogue(projectId: string): Dialogue {
  const store = useMemo(() => talkOf(projectId), [projectId])
  const talk = useSyncExternalStore(store.subscribe, store.talk)
  const start = useMutation({ mutationFn: (body: SessionInput) => store.start(() => createSession(api, body)) })
  useFollowed(store, talk.callId)
  return { ...talk, start: start.mutate, hangUp: store.hangUp }
}

/** Each panel reads the events of a call from the first one. */
function useFollowed(store: TalkStore, callId: string | null): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: reset for another call
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
