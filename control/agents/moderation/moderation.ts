/**
 * Checks what agents are instructed to do. The built-in rules run first: their result is the same everywhere and needs
 * no network. The operator may add a moderation model. When the model is unreachable, the rules alone decide.
 */
import { setImmediate } from 'node:timers/promises'
import { z } from 'zod'
import type { Deps } from '../../platform/deps.ts'
import { type FieldError, Problem } from '../../platform/http/problem.ts'
import { errorFields } from '../../platform/log.ts'
import { readByRules } from './reading.ts'

/** Takes texts by JSON Pointer and returns an error for each rejected one. */
export interface Moderator {
  check(texts: Readonly<Record<string, string>>, signal: AbortSignal): Promise<FieldError[]>
}

/** Characters that one rule reads in about 50 ms in the worst case; then other work may run. */
const AT_A_TIME = 60_000

export const rulesModerator: Moderator = {
  async check(texts) {
    const found: FieldError[] = []
    let read = 0
    for (const [pointer, text] of Object.entries(texts)) {
      const reading = readByRules(text)
      for (;;) {
        const { done, value: rule } = reading.next()
        if (rule) found.push({ pointer, code: rule.code, message: rule.message })
        if (done) break
        read += text.length
        if (read < AT_A_TIME) continue
        read = 0
        await setImmediate()
      }
    }
    return found
  },
}

const MODEL_TIMEOUT_MS = 3000
const MODEL_MAX_BYTES = 262_144

const ModelAnswer = z.object({
  results: z.array(z.object({ flagged: z.boolean(), categories: z.record(z.string(), z.unknown()).optional() })),
})

export function modelModerator(
  deps: Pick<Deps, 'fetch'>,
  { url, key }: { url: string; key: string | null },
): Moderator {
  return {
    async check(texts, signal) {
      const pointers = Object.keys(texts)
      const response = await deps.fetch({
        url,
        method: 'POST',
        headers: { 'content-type': 'application/json', ...(key === null ? {} : { authorization: `Bearer ${key}` }) },
        body: JSON.stringify({ input: Object.values(texts) }),
        timeoutMs: MODEL_TIMEOUT_MS,
        maxBytes: MODEL_MAX_BYTES,
        maxRedirects: 0,
        signal,
      })
      if (response.status !== 200) throw new Error(`moderation model returned status ${response.status}`)
      const { results } = ModelAnswer.parse(JSON.parse(response.body.toString('utf8')))
      if (results.length !== pointers.length) throw new Error('moderation model did not return a result for every text')
      return results.flatMap(({ flagged, categories = {} }, index) => {
        if (!flagged) return []
        const named = Object.keys(categories).filter(name => categories[name] === true)
        const message = named.length > 0 ? `Rejected as ${named.join(', ')}` : 'Rejected by the moderation model'
        return [{ pointer: pointers[index]!, code: 'flagged', message }]
      })
    },
  }
}

type Ports = Pick<Deps, 'fetch' | 'log' | 'config'>

/** Throws 422 with a pointer to each rejected text. */
export async function passModeration(
  deps: Ports,
  texts: Readonly<Record<string, string | null | undefined>>,
): Promise<void> {
  const errors = await rejectedTexts(deps, texts)
  if (errors.length > 0) throw new Problem('moderation_rejected', { errors })
}

/** Returns the errors of the rejected texts. The model checks only the texts that pass the rules. */
export async function rejectedTexts(
  deps: Ports,
  texts: Readonly<Record<string, string | null | undefined>>,
): Promise<FieldError[]> {
  const given = Object.fromEntries(Object.entries(texts).filter((entry): entry is [string, string] => !!entry[1]))
  const signal = AbortSignal.timeout(MODEL_TIMEOUT_MS)
  const broken = await rulesModerator.check(given, signal)
  for (const { pointer } of broken) delete given[pointer]
  if (Object.keys(given).length === 0 || deps.config.moderation === null) return broken
  const model = modelModerator(deps, deps.config.moderation)
  const flagged = await model.check(given, signal).catch(error => {
    deps.log.warn({ error: errorFields(error) }, 'moderation model is unreachable; only the rules were applied')
    return []
  })
  return [...broken, ...flagged]
}
