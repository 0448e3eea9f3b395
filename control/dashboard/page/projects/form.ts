/** Context shared by the parts of the editor: the form and the saved project. */
import { createFormContext, type UseFormReturnType } from '@mantine/form'
import { createContext, useContext } from 'react'
import type { Draft, Key, Project } from './draft.ts'

export const [DraftProvider, useDraft, useDraftForm] = createFormContext<Draft>()
export type DraftForm = UseFormReturnType<Draft>

export interface Editing {
  /** The project as last saved. */
  saved: Project
  dirty: boolean
  saving: boolean
  /** Saves the draft. Resolves to false if it is invalid; the errors are then shown at their fields. */
  save(): Promise<boolean>
}

export const EditingContext = createContext<Editing | null>(null)

export function useEditing(): Editing {
  const editing = useContext(EditingContext)
  if (!editing) throw new Error('useEditing was called outside the project editor')
  return editing
}

export const TABS = ['agent', 'models', 'goal', 'tools', 'transfers', 'knowledge', 'numbers', 'secrets'] as const
export type Tab = (typeof TABS)[number]

export const isTab = (value: string | null): value is Tab => TABS.some(tab => tab === value)

const TAB_OF: Partial<Record<Key, Tab>> = {
  llm: 'models',
  llm_fallback: 'models',
  speech_to_text: 'models',
  text_to_speech: 'models',
  voice: 'models',
  goal: 'goal',
  extraction: 'goal',
  tools: 'tools',
  transfers: 'transfers',
}

/** Returns the tab that contains the field at this path. */
export const tabOf = (path: string): Tab => TAB_OF[path.split('.')[0] as Key] ?? 'agent'
