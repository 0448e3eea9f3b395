/** A caller played by a text model; the model is a local server that speaks OpenAI's protocol. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { judge } from '../../infra/simulate/judge.ts'
import { parseScenario } from '../../infra/simulate/scenario.ts'
import { runText } from '../../infra/simulate/text.ts'
import { FetchError } from '../../media/shared/fetch.ts'
import { type HttpVendor, startHttpVendor } from '../fakes/vendors/http-vendor.ts'
import { baseUrlOf, openAiStream, sse } from '../fakes/vendors/text-models.ts'
import { quietLog } from '../support/world.ts'

let vendor: HttpVendor
beforeAll(async () => {
  vendor = await startHttpVendor()
})
afterAll(() => vendor?.close())

const fetch = () => Promise.reject(new FetchError('network', 'no network in this test'))
const end = { id: 'e', name: 'end_call', json: '{}' }

describe('a caller played by a model', () => {
  it('talks to the agent as it would to a person, and hangs up', async () => {
    const says = [
      { text: ['What is the status ', 'of order 47?'] },
      { text: ['No, that is all I need.'], calls: [] },
      { text: ['Bye.'], calls: [end] },
    ]
    const bodies: string[] = []
    vendor.answer = (body: Buffer) => {
      bodies.push(body.toString())
      return sse(openAiStream(says[bodies.length - 1] ?? { calls: [end] }))
    }
    const scenario = parseScenario(
      'persona.yaml',
      `name: An impatient caller
agent:
  greeting: Hello. What can I do for you?
  tools:
    - name: order_status
      description: Look up the status of an order.
      method: GET
      url: https://shop.example/orders/{number}
      parameters:
        type: object
        properties: { number: { type: integer, description: What is the number? } }
        required: [number]
tools:
  order_status: { body: { message: It is on its way. } }
caller:
  persona: You are in a hurry and want to know where order 47 is.
  model: { base_url: ${baseUrlOf('openai_compatible', vendor)}, model: m, api_key_env: CALLER_KEY }
expect:
  tools: [{ name: order_status, status: ok }]
  said: [on its way]
`,
    )
    const outcome = await runText(scenario, { fetch, log: quietLog, env: { CALLER_KEY: 'sk-caller' } })
    expect(judge(scenario.expect, outcome, scenario.today ?? '2026-11-21')).toEqual([])
    expect(bodies[0]).toContain('You are in a hurry')
    // The agent's words are the other side's to this caller.
    expect(JSON.parse(bodies[0]!).messages.at(-1)).toEqual({ role: 'user', content: 'Hello. What can I do for you?' })
    expect(outcome.turns.filter(turn => turn.role === 'caller').length).toBeGreaterThanOrEqual(2)
  }, 180_000)
})
