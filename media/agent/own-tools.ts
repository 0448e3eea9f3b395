/** What an agent can do besides speaking, without a tool of the customer's: what the model is told of it, and how it is done. */
import { OWN_TOOLS, type OwnTool } from '../contract/own-tools.ts'
import { ABOUT, type CallPlan, type TransferTarget } from '../contract/plan.ts'
import type { KnowledgeHit, SearchKnowledge } from '../ports/knowledge.ts'
import type { Leg } from '../ports/leg.ts'
import type { LlmTool } from '../ports/llm.ts'
import { MAX_RESULT_CHARS, type ToolOutcome } from '../tools/http-tool.ts'

/** What the call can do for its agent; what is absent is not offered to the model. */
export interface Abilities {
  sendDtmf?: Leg['sendDtmf']
  /** `about`: of the caller, for who takes the call. `reason`: words for the model. */
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

const tellsAbout = ({ announce }: TransferTarget) => announce?.includes(ABOUT) ?? false

/** Those of this call. A customer's tool of the same name, from before the name was taken, goes first. */
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

const done = (result: string): ToolOutcome => ({ verdict: 'ok', http_status: null, result })
const failed = (result: string): ToolOutcome => ({ verdict: 'failed', http_status: null, result })

const KEYS = /^[0-9*#A-D,]+$/

/** A leg that is gone may never answer: the end of the call does not wait for it. */
async function orGone<T>(work: Promise<T> | undefined, signal: AbortSignal): Promise<T | undefined> {
  let leave = () => {}
  const gone = new Promise<never>((_, reject) => {
    leave = () => reject(signal.reason)
    if (signal.aborted) leave()
    else signal.addEventListener('abort', leave)
  })
  gone.catch(() => {}) // when the work was done first
  try {
    return await Promise.race([work, gone])
  } finally {
    signal.removeEventListener('abort', leave)
  }
}

const passage = ({ source, heading, text }: KnowledgeHit) => ({ source, ...(heading ? { heading } : {}), text })

/** As many as fit into what a model is told; of the first, as much as does. */
function tellable(hits: readonly KnowledgeHit[]): KnowledgeHit[] {
  const told: KnowledgeHit[] = []
  for (const hit of hits) {
    if (JSON.stringify([...told, hit].map(passage)).length > MAX_RESULT_CHARS) break
    told.push(hit)
  }
  const [first] = hits
  return told.length > 0 || !first ? told : [{ ...first, text: first.text.slice(0, MAX_RESULT_CHARS / 2) }]
}

/** Never throws. `end_call` is done by who speaks, since it waits for the last word. */
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
          return { ...failed('Only 0-9, *, #, A-D and commas can be pressed.'), verdict: 'bad_arguments' }
        await orGone(abilities.sendDtmf?.(keys), signal)
        return done(`Pressed ${keys}.`)
      }
      case 'transfer_call': {
        const target = plan.transfers.find(candidate => candidate.name === args['to'])
        if (!target) return { ...failed('There is nobody of that name.'), verdict: 'bad_arguments' }
        const result = await orGone(abilities.transfer?.(target, String(args['about'] ?? '')), signal)
        return result?.ok
          ? done('The call was handed over.')
          : failed(result?.reason ?? 'The call could not be handed over.')
      }
      case 'search_knowledge': {
        const hits = (await orGone(abilities.searchKnowledge?.(String(args['query']), signal), signal)) ?? []
        if (hits.length === 0) return done('Nothing was found. Say that you do not know.')
        const told = tellable(hits)
        const knowledge = told.map(({ chunk_id, source_id, source }) => ({ chunk_id, source_id, source }))
        return { ...done(JSON.stringify(told.map(passage))), knowledge }
      }
    }
  } catch {
    return failed(signal.aborted ? 'It was given up.' : 'It did not work.')
  }
}
