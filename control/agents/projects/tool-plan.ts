/** Makes tool plans from the settings of a project, and collects the secrets that they name. Pure. */
import type { FillerStage, ToolPlan } from '../../../media/contract/plan.ts'
import type { ProjectSettings, Tool } from './schema.ts'

/** Milliseconds before a single filler phrase, so that it does not delay the result of a fast tool. */
const FILLER_AFTER_MS = 300

const SECRET = /\{\{\s*secret:([A-Za-z0-9_]+)\s*\}\}/g

export function fillSecrets(text: string, secrets: ReadonlyMap<string, string>): string {
  return text.replace(SECRET, (_, name: string) => secrets.get(name) ?? '')
}

type Named = Pick<ProjectSettings, 'tools' | 'llm' | 'llm_fallback' | 'speech_to_text' | 'text_to_speech'>

/** Returns the names of all secrets that a call of this project needs. */
export function secretNames(settings: Named): string[] {
  const values = settings.tools.flatMap(tool => Object.values(tool.headers))
  const names = values.flatMap(value => [...value.matchAll(SECRET)].map(match => match[1]!))
  const key = llmKeyName(settings)
  return [...new Set([...names, ...(key === null ? [] : [key]), ...vendorKeyNames(settings)])]
}

export const llmKeyName = ({ llm }: Pick<Named, 'llm'>) => (llm.provider === 'scripted' ? null : llm.api_key_secret)

/** Returns the names of the API key secrets of all providers except `llm`. */
export function vendorKeyNames({
  llm_fallback,
  speech_to_text,
  text_to_speech,
}: Omit<Named, 'tools' | 'llm'>): string[] {
  const names = [...llm_fallback, ...speech_to_text, ...text_to_speech].map(one => one.api_key_secret)
  return names.filter(name => name !== null)
}

function filler(tool: Tool): FillerStage[] | null {
  if (tool.filler === null) return null
  return typeof tool.filler === 'string' ? [{ after_ms: FILLER_AFTER_MS, text: tool.filler }] : tool.filler
}

export function toolPlan(tool: Tool): ToolPlan {
  const { name, description, method, url, parameters, timeout_ms } = tool
  return { name, description, method, url, parameters, timeout_ms, filler: filler(tool) }
}
