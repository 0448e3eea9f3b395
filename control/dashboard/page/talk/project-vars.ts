import type { Schemas } from '../api/types.ts'
import { varsOf } from '../projects/vars.ts'

/** Names of `{{var}}` in all that the agent will say or do, in order, each once. */
export function varsOfProject(project: Schemas['Project'], task: string): string[] {
  const { prompt, greeting, disclosure, recording_notice, goal, voicemail } = project
  const message = voicemail.action === 'leave_message' ? voicemail.text : null
  const texts = [prompt, task, greeting, disclosure, recording_notice, goal, message]
  return varsOf(...texts.map(text => text ?? ''))
}
