/** Reads briefs with the operator's text model; null when none is configured. */
import type { BriefModel } from '../../control/outreach/leads/brief/model.ts'
import { createTextModel } from '../../media/models/text-model.ts'
import { VendorError } from '../../media/models/vendor-error.ts'
import type { Clock } from '../../media/shared/clock.ts'
import { markInline, markUntrusted, newBoundary, untrustedRule } from '../../media/shared/untrusted.ts'
import type { Config } from '../config/config.ts'

export interface BriefModelOptions {
  config: Pick<Config, 'LLM_BASE_URL' | 'LLM_MODEL' | 'LLM_API_KEY'>
  clock: Clock
}

const TOOL = 'brief'

export function createBriefModel({ config, clock }: BriefModelOptions): BriefModel | null {
  const { LLM_BASE_URL: baseUrl, LLM_MODEL: model } = config
  if (!baseUrl || !model) return null
  const apiKey = config.LLM_API_KEY ?? null
  const llm = createTextModel({ provider: 'openai_compatible', baseUrl, model, apiKey, clock, retries: 0 })

  return async ({ task, brief, schema, repair }, signal) => {
    const boundary = newBoundary()
    const request = {
      system:
        `${task} Answer by calling \`${TOOL}\` once, and say nothing else. ${untrustedRule(boundary)}` +
        (repair ? `\n\nYour last answer was refused: ${markInline(boundary, 'validation', repair)}. Correct it.` : ''),
      boundary,
      language: 'en',
      messages: [{ role: 'caller' as const, text: markUntrusted(boundary, 'brief', brief) }],
      tools: [{ name: TOOL, description: 'What the brief says', parameters: schema }],
      today: new Date(clock.wall()),
    }
    let text = ''
    for await (const event of llm.respond(request, signal)) {
      if (event.type === 'tool') return event.arguments
      text += event.delta
    }
    // The model's stream ends without an error when it is aborted.
    if (signal.aborted) throw new VendorError('openai_compatible', 'timeout', 'No answer in time')
    return jsonIn(text)
  }
}

/** Servers without tool support write the arguments as text; null when that is not JSON. */
function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text.slice(text.indexOf('{'), text.lastIndexOf('}') + 1))
  } catch {
    return null
  }
}
