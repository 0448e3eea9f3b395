/** Built-in tools of an agent: their declarations for the model, and their execution. */
import { OWN_TOOLS, type OwnTool } from '../contract/own-tools.ts'
import { ABOUT_PLACEHOLDER, type CallPlan, type TransferTarget } from '../contract/plan.ts'
import type { KnowledgeHit, SearchKnowledge } from '../ports/knowledge.ts'
import type { Leg } from '../ports/leg.ts'
import type { LlmTool } from '../ports/llm.ts'
import { MAX_RESULT_CHARS, type ToolOutcome } from '../tools/http-tool.ts'

/** Operations that the call offers its agent; absent ones are not offered to the model. */
export interface Abilities {
  sendDtmf?: Leg['sendDtmf']
  /** `about`: a summary of the caller for the transfer target. `reason`: text for the model. */
  transfer?(target: TransferTarget, about: string): Promise<{ ok: true } | { ok: false; reason: string }>
  searchKnowledge?: SearchKnowledge
}

const text = (description: string, maxLength: number) => ({ type: 'string', description, minLength: 1, maxLength })
const object = (properties: Record<string, unknown>, required: string[]) => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
})

const NOTHING = object({}, [])
const DECLARED: Record<OwnTool, (plan: CallPlan) => Omit<LlmTool, 'name'>> = {
  end_call: () => ({ description: 'Hang up, after goodbye was said.', parameters: NOTHING }),
  do_not_call: () => ({ description: 'The caller asked never to be called again.', parameters: NOTHING }),
  take_message: () => ({
    description: 'Write down a message for the people you work for, when neither you nor a tool can help.',
    parameters: object(
      {
        message: text("The message, in the caller's words", 2000),
        from: text('Name of the caller, when it was said', 200),
        callback: text('Number to call back, when it was said', 50),
      },
      ['message'],
    ),
  }),
  send_digits: () => ({
    description: 'Press keys of the telephone, when you talk to an automatic menu. A comma waits half a second.',
    parameters: object({ digits: { type: 'string', description: '0-9, *, #, A-D and commas', maxLength: 64 } }, [
      'digits',
    ]),
  }),
  search_knowledge: () => ({
    description: 'Look up what is known about the business, before you answer a question about it.',
    parameters: object({ query: text('What to look for, in a few words', 400) }, ['query']),
  }),
  transfer_call: ({ transfers }) => ({
    description: `Give the call to a person. ${transfers
      .map(target => `${target.name}: ${target.description || target.name}`)
      .join('; ')}. Say first that you are connecting them.`,
    parameters: object(
      {
        to: { type: 'string', enum: transfers.map(target => target.name) },
        ...(transfers.some(tellsAbout)
          ? { about: text('For them: who is calling and why, in one sentence', 500) }
          : {}),
      },
      ['to'],
    ),
  }),
}

const tellsAbout = ({ announce }: TransferTarget) => announce?.includes(ABOUT_PLACEHOLDER) ?? false

/**
 * Built-in tools available in this call. A customer's tool of the same name, older than the built-in, takes precedence.
 */
export function ownTools(plan: CallPlan, abilities: Abilities): LlmTool[] {
  const possible: Partial<Record<OwnTool, boolean>> = {
    send_digits: abilities.sendDtmf !== undefined,
    search_knowledge: plan.knowledge && abilities.searchKnowledge !== undefined,
    transfer_call: plan.transfers.length > 0 && abilities.transfer !== undefined,
  }
  return OWN_TOOLS.filter(name => possible[name] !== false && !plan.tools.some(tool => tool.name === name)).map(
    name => ({ name, ...DECLARED[name](plan) }),
  )
}

const done = (result: string): ToolOutcome => ({ status: 'ok', http_status: null, result })
const failed = (result: string): ToolOutcome => ({ status: 'failed', http_status: null, result })

const KEYS = /^[0-9*#A-D,]+$/

/**
 * Rejects when the signal aborts, since a leg that is gone may never settle: the end of the call must not wait for it.
 */
async function orGone<T>(work: Promise<T> | undefined, signal: AbortSignal): Promise<T | undefined> {
  let leave = () => {}
  const gone = new Promise<never>((_, reject) => {
    leave = () => reject(signal.reason)
    if (signal.aborted) leave()
    else signal.addEventListener('abort', leave)
  })
  gone.catch(() => {}) // unhandled when the work settles first
  try {
    return await Promise.race([work, gone])
  } finally {
    signal.removeEventListener('abort', leave)
  }
}

const passage = ({ source, heading, text }: KnowledgeHit) => ({ source, ...(heading ? { heading } : {}), text })

/** Returns as many hits as fit into a tool result; if the first alone is too long, its beginning. */
function fitting(hits: readonly KnowledgeHit[]): KnowledgeHit[] {
  const fit: KnowledgeHit[] = []
  for (const hit of hits) {
    if (JSON.stringify([...fit, hit].map(passage)).length > MAX_RESULT_CHARS) break
    fit.push(hit)
  }
  const [first] = hits
  return fit.length > 0 || !first ? fit : [{ ...first, text: first.text.slice(0, MAX_RESULT_CHARS / 2) }]
}

/** Never throws. The caller of this function performs `end_call`, because the hang-up waits for the last word. */
export async function runOwnTool(
  name: OwnTool,
  args: Record<string, unknown>,
  { plan, abilities, signal }: { plan: CallPlan; abilities: Abilities; signal: AbortSignal },
): Promise<ToolOutcome> {
  try {
    switch (name) {
      case 'end_call':
        return done('Hung up.')
      case 'do_not_call':
        return done('Noted: this person is not called again. Say goodbye.')
      case 'take_message':
        return done('The message was written down and will be passed on.')
      case 'send_digits': {
        const keys = String(args['digits']).toUpperCase().replace(/[\s-]/g, '')
        if (!KEYS.test(keys))
          return { ...failed('Only 0-9, *, #, A-D and commas can be pressed.'), status: 'bad_arguments' }
        await orGone(abilities.sendDtmf?.(keys), signal)
        return done(`Pressed ${keys}.`)
      }
      case 'transfer_call': {
        const target = plan.transfers.find(candidate => candidate.name === args['to'])
        if (!target) return { ...failed('There is nobody of that name.'), status: 'bad_arguments' }
        const result = await orGone(abilities.transfer?.(target, String(args['about'] ?? '')), signal)
        return result?.ok
          ? done('The call was handed over.')
          : failed(result?.reason ?? 'The call could not be handed over.')
      }
      case 'search_knowledge': {
        const hits = (await orGone(abilities.searchKnowledge?.(String(args['query']), signal), signal)) ?? []
        if (hits.length === 0) return done('Nothing was found. Say that you do not know.')
        const fit = fitting(hits)
        const knowledge = fit.map(({ chunk_id, source_id, source }) => ({ chunk_id, source_id, source }))
        return { ...done(JSON.stringify(fit.map(passage))), knowledge }
      }
    }
  } catch {
    return failed(signal.aborted ? 'It was given up.' : 'It did not work.')
  }
}
