/**
 * What an agent must not be told to do. Our own rules judge first: their verdict is the same everywhere and needs no
 * network. An operator may put a moderation model behind them; when it is away, the rules alone decide.
 */
import { setImmediate } from 'node:timers/promises'
import { z } from 'zod'
import type { Deps } from '../../platform/deps.ts'
import { type FieldError, Problem } from '../../platform/http/problem.ts'
import { errorFields } from '../../platform/log.ts'
import { readByRules } from './reading.ts'

/** Texts by JSON Pointer, verdicts on those that are rejected. */
export interface Moderator {
  check(texts: Readonly<Record<string, string>>, signal: AbortSignal): Promise<FieldError[]>
}

/** So many characters, read by one rule, take some 50 ms when they are made to be slow; then others have their turn. */
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
      if (response.status !== 200) throw new Error(`the moderation model answered ${response.status}`)
      const { results } = ModelAnswer.parse(JSON.parse(response.body.toString('utf8')))
      if (results.length !== pointers.length) throw new Error('the moderation model did not judge every text')
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

/** What is wrong with them: the model is asked of those that the rules let through. */
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
    deps.log.warn({ error: errorFields(error) }, 'moderation model is away, the rules alone decided')
    return []
  })
  return [...broken, ...flagged]
}
