/** The cells of a peer that is a phone: the same for every protocol. */
import { expect } from 'vitest'
import type { CallPlan, TrunkPlan } from '../../media/contract/plan.ts'
import type { Leg } from '../../media/ports/leg.ts'
import { trunkPlan } from '../sip/trunk/bench.ts'
import { until } from '../support/world.ts'
import { AGENT_HZ, Agent } from './agent.ts'
import type { Cell } from './interop.ts'
import { answered, type Dialed, type Line, legOf, OUR_NUMBER } from './line.ts'
import type { Feature } from './list.ts'

export interface Phone {
  /** The trunk that leads to it. */
  trunk: Partial<TrunkPlan>
  /** Frequency of the tone that it sends; ours when it echoes. */
  hz: number
  /** Calls our number. */
  dial(): Promise<unknown>
  /** Resolves when a call of ours is there. */
  rings(): Promise<unknown>
  accept(): Promise<unknown>
  hangup(): Promise<unknown>
  hold(): Promise<unknown>
  resume(): Promise<unknown>
  /** Offers anew inside the call. */
  reinvite(): Promise<unknown>
  /** One key after the other. */
  press(keys: string): Promise<unknown>
  /** DTMF digits that it has received in this call. */
  pressed(): string
  /** Resolves when it has no call any more. */
  over(): Promise<unknown>
  /** Stops it as it is, until the returned function is called. */
  freeze(): () => void
  /** Resolves when it receives this tone; omitted when `hz` shows the same. */
  hears?(hz: number): Promise<unknown>
  /** Ends what a cell that failed left open. */
  reset(): Promise<unknown>
  /** Its output. */
  output(): string
}

export interface PhoneRow {
  line(): Line
  phone(): Phone
  /** URI that leads back to us. */
  back(): string
  /** Checks codec or encryption of a call of this row. */
  judge?(leg: Leg): unknown
}

const RING_MS = 1500
const KEYS_IN = '1590#'
const KEYS_OUT = '2*7D'

/** All but what each peer does in its own way. */
export function phoneCells(row: PhoneRow): Record<Exclude<Feature, 'digest' | 'early media'>, Cell> {
  const told =
    (cell: Cell): Cell =>
    async () => {
      try {
        await cell()
      } catch (error) {
        await row.phone().reset()
        throw new Error(`${(error as Error).message}\n${row.phone().output()}`, { cause: error })
      }
    }
  const cells: Record<Exclude<Feature, 'digest' | 'early media'>, Cell> = {
    inbound: () => inbound(row),
    outbound: () => outbound(row),
    DTMF: () => dtmf(row),
    hold: () => hold(row),
    're-INVITE': () => reinvite(row),
    transfer: () => transfer(row),
    CANCEL: () => cancel(row),
    timeouts: () => timeouts(row),
  }
  for (const name of Object.keys(cells) as (keyof typeof cells)[]) cells[name] = told(cells[name])
  return cells
}

/** Checks audio in both directions. */
export async function talk(phone: Phone, leg: Leg): Promise<Agent> {
  const agent = new Agent(leg)
  await heard(phone, agent)
  return agent
}

async function heard(phone: Phone, agent: Agent): Promise<void> {
  await agent.hears(phone.hz)
  await phone.hears?.(AGENT_HZ)
}

function listen({ line, phone }: PhoneRow): void {
  line().bench.setTrunks(trunkPlan({ port: 5060 }, phone().trunk))
}

/** A call of the peer's, answered. */
export async function taken(row: PhoneRow): Promise<Leg> {
  listen(row)
  await row.phone().dial()
  const offer = await row.line().offer()
  expect(offer.called).toBe(OUR_NUMBER)
  return answered(offer)
}

/** A call of ours, accepted there. */
async function placed(row: PhoneRow): Promise<Leg> {
  const { result, rings } = rung(row)
  await row.phone().rings()
  await until(() => rings.length > 0, 'news that it rings')
  await row.phone().accept()
  return legOf(await result)
}

const rung = ({ line, phone }: PhoneRow, plan: Partial<CallPlan> = {}): Dialed => line().dial(phone().trunk, plan)

async function hungUp(row: PhoneRow, leg: Leg): Promise<void> {
  await leg.hangup('agent_hangup')
  await row.phone().over()
}

async function inbound(row: PhoneRow): Promise<void> {
  const leg = await taken(row)
  await talk(row.phone(), leg)
  await row.judge?.(leg)
  await row.phone().hangup()
  expect(await leg.ended).toEqual({ by: 'remote', reason: 'caller_hangup' })
}

async function outbound(row: PhoneRow): Promise<void> {
  const leg = await placed(row)
  await talk(row.phone(), leg)
  await row.judge?.(leg)
  await hungUp(row, leg)
}

async function dtmf(row: PhoneRow): Promise<void> {
  const leg = await taken(row)
  const agent = await talk(row.phone(), leg)
  await row.phone().press(KEYS_IN)
  await agent.hearsKeys(KEYS_IN)
  await leg.sendDtmf!(KEYS_OUT)
  await until(() => row.phone().pressed() === KEYS_OUT, 'our keys')
  await hungUp(row, leg)
}

async function hold(row: PhoneRow): Promise<void> {
  const leg = await placed(row)
  const agent = await talk(row.phone(), leg)
  await row.phone().hold()
  await agent.silence()
  await row.phone().resume()
  // Not by what it heard: a decoder of baresip's is not written to its file any more after a hold.
  await Promise.all([agent.hears(row.phone().hz), agent.sends()])
  await hungUp(row, leg)
}

/** The INVITEs of the peer's that a call has had. */
function invitesIn({ line }: PhoneRow, callId: string): number {
  const trace = line().bench.edge.traces.take({ callId, media: null, reason: 'agent_hangup' })
  const texts = (trace?.messages ?? []).filter(({ sent }) => !sent).map(({ text }) => text)
  return new Set(texts.filter(text => text.startsWith('INVITE ')).map(text => /^CSeq: *(\d+)/im.exec(text)?.[1])).size
}

async function reinvite(row: PhoneRow): Promise<void> {
  listen(row)
  await row.phone().dial()
  const offer = await row.line().offer()
  const callId = crypto.randomUUID()
  offer.admitted!(callId)
  const leg = await answered(offer)
  const agent = await talk(row.phone(), leg)
  await row.phone().reinvite()
  await row.phone().reinvite()
  await heard(row.phone(), agent)
  await hungUp(row, leg)
  expect(invitesIn(row, callId)).toBe(3)
}

async function transfer(row: PhoneRow): Promise<void> {
  const leg = await placed(row)
  await talk(row.phone(), leg)
  const result = leg.transfer!(row.back())
  const second = await answered(await row.line().offer())
  expect(await result).toEqual({ ok: true })
  expect((await leg.ended).reason).toBe('transferred')
  await talk(row.phone(), second)
  await hungUp(row, second)
}

async function cancel(row: PhoneRow): Promise<void> {
  const ours = rung(row)
  await row.phone().rings()
  ours.abort()
  expect(await ours.result).toMatchObject({ failure: { status: 'canceled', sipCode: 487 } })
  await row.phone().over()
  listen(row)
  await row.phone().dial()
  const theirs = await row.line().offer()
  await row.phone().hangup()
  await until(() => theirs.signal.aborted, 'its CANCEL')
  expect(await theirs.answer()).toBeNull()
}

async function timeouts(row: PhoneRow): Promise<void> {
  const { result } = rung(row, { ring_timeout_ms: RING_MS })
  await row.phone().rings()
  expect(await result).toMatchObject({ failure: { status: 'no_answer', reason: 'no_answer', sipCode: 487 } })
  await row.phone().over()
  const leg = await taken(row)
  await talk(row.phone(), leg)
  const thaw = row.phone().freeze()
  try {
    expect(await leg.ended).toEqual({ by: 'network', reason: 'media_timeout' })
  } finally {
    thaw()
  }
  await row.phone().over()
}
