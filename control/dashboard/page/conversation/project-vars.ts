import type { Schemas } from '../api/types.ts'
import { varsOf } from './vars.ts'

/** Returns the names of `{{variable}}` placeholders in all texts of the agent, in order, without duplicates. */
export function varsOfProject(project: Schemas['Project'], task: string): string[] {
  const { prompt, greeting, disclosure, recording_notice, goal, voicemail } = project
  const message = voicemail.action === 'leave_message' ? voicemail.text : null
  const texts = [prompt, task, greeting, disclosure, recording_notice, goal, message]
  return varsOf(...texts.map(text => text ?? ''))
}
