/** Checks that hold after every call. */
import { expect } from 'vitest'
import type { Stack } from './stack.ts'
import type { Detail, Owner } from './stack-owner.ts'
import type { SpeechKit } from './stack-speech.ts'
import { letterErrors } from './stack-speech.ts'
import { type Got, signatureOf } from './stack-world.ts'

/** Acceptable rate of wrong letters: a sentence of which every fifth word is lost fails. */
export const LETTER_ERRORS = 0.2

/** Nothing is held, each transaction of the ledger sums to zero, and the balance dropped by the cost of calls. */
export async function expectSettled(stack: Stack, owner: Owner): Promise<void> {
  const { body } = await owner.rest('GET', '/balance')
  expect(body.held.amount).toBe('0.0000')
  const { sql } = stack.parts
  const [ledger] = await sql<{ sum: bigint; balance: bigint; held: bigint; funded: bigint }[]>`
    select sum(amount) as sum,
      sum(amount) filter (where account = 'balance') as balance,
      sum(amount) filter (where account = 'held') as held,
      -sum(amount) filter (where account = 'funding') as funded
    from ledger_entries where owner_id = ${owner.id}`
  expect(String(ledger!.sum)).toBe('0')
  expect(String(ledger!.held)).toBe('0')
  const [cost] = await sql<
    { cost: bigint }[]
  >`select coalesce(sum(cost), 0) as cost from calls where owner_id = ${owner.id}`
  expect(String(ledger!.balance)).toBe(String(BigInt(ledger!.funded) - BigInt(cost!.cost)))
  expect(BigInt(body.balance.amount.replace('.', ''))).toBe(BigInt(ledger!.balance))
}

/** The cost at 5.0000 per minute, rounded half up to four places. */
export function expectCost(detail: Detail): void {
  expect(detail.billed_seconds).toBeGreaterThan(0)
  expect(detail.cost).toEqual({
    amount: (Math.round((50_000 * detail.billed_seconds!) / 60) / 10_000).toFixed(4),
    currency: 'RUB',
  })
}

/** Waits for the webhook of this call's end and checks its signature. */
export async function expectWebhook(stack: Stack, owner: Owner, callId: string, event: string): Promise<Got> {
  const got = await stack.world.wait(
    ({ body, path }) => path !== '/' && body.includes(callId),
    `a webhook of ${callId}`,
  )
  const body = JSON.parse(got.body)
  expect(body).toMatchObject({ event, call_id: callId })
  expect(got.headers['x-svc-signature']).toBe(signatureOf(got, owner.webhookSecret!))
  return got
}

/** Checks that the recording, transcribed again, matches the transcript of the agent. */
export async function expectHeard(speech: SpeechKit, recorded: Int16Array, detail: Detail): Promise<string> {
  const said = detail.transcript.filter(turn => turn.role === 'agent').map(turn => turn.heard_text)
  const heard = (await speech.read(recorded)).map(utterance => utterance.text).join(' ')
  expect(letterErrors(said.join(' '), heard), `said: ${said.join(' ')}\nheard: ${heard}`).toBeLessThanOrEqual(
    LETTER_ERRORS,
  )
  return heard
}
