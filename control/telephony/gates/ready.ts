/** Checks that a project is ready for conversations. */

import type { ProjectSettings } from '../../agents/projects/schema.ts'
import { type FieldError, Problem } from '../../platform/http/problem.ts'

type Thinking = Pick<ProjectSettings, 'prompt' | 'llm' | 'llm_fallback'>

/** Names of the secrets that its models need. */
export const llmSecrets = ({ llm, llm_fallback }: Thinking): string[] =>
  [llm, ...llm_fallback].map(keyOf).filter(name => name !== null)

const keyOf = (llm: Thinking['llm']) => (llm.provider === 'scripted' ? null : llm.api_key_secret)

/** `secrets`: the existing ones of `llmSecrets`. Reports an empty prompt, and models that all lack their key. */
export function notReady(project: Thinking, secrets: ReadonlySet<string>): Problem | null {
  const errors: FieldError[] = []
  if (project.prompt.trim() === '') errors.push({ pointer: '/prompt', code: 'empty', message: 'is empty' })
  const hasKey = [project.llm, ...project.llm_fallback].some(llm => {
    const name = keyOf(llm)
    return name === null || secrets.has(name)
  })
  if (!hasKey) {
    errors.push({
      pointer: '/llm/api_key_secret',
      code: 'no_secret',
      message: 'must be the name of an existing secret',
    })
  }
  return errors.length > 0 ? new Problem('project_not_ready', { errors }) : null
}
