/**
 * Attempts per minute against the narrowest limit of a campaign: control with its pacer and jobs in this process, an
 * engine without phones in another. One campaign per limit, all at the same time, each with its own trunk.
 */
import { fileURLToPath } from 'node:url'
import { startControl } from '../../control/app.ts'
import { costOf, fromUnits } from '../../control/billing/money.ts'
import { HOLD_SECONDS, tariffAt } from '../../control/telephony/call-setup/tariff.ts'
import { type CampaignWish, fillCampaign, openCampaignWorld, SECRET, startCampaigns } from './campaign-world.ts'
import type { PaceEngineHandlers } from './pace-engine.ts'
import type { Line } from './report.ts'
import { forkRemote } from './rpc.ts'

export interface PaceBench {
  /** Seconds of measurement, after all slots are open. */
  seconds: number
  report(text: string): void
}

interface Case {
  name: string
  wish: Partial<CampaignWish>
  /** Duration of its calls, in ms. */
  lastsMs: number
  /** Attempts per second that the limit allows. */
  allowed: number
}

const PLACES = 20
const LINES = 10
const PAID = 10
const LONG_MS = 3000
const SHORT_MS = 50
/** Milliseconds to settle: slots open over 5 s. */
const SETTLES_MS = 8000
/** Smallest acceptable fraction of the limit; a carrier's limit must never be exceeded. */
const WANTED = 0.9
/** Different concurrencies for the cases. */
const MOST = 100

const cps = (max_cps: number): Case => ({
  name: `max_cps ${max_cps}`,
  wish: { max_cps },
  lastsMs: SHORT_MS,
  allowed: max_cps,
})
const cases = (hold: string): Case[] => [
  ...[cps(5), cps(10), cps(40)],
  { name: `${PLACES} slots`, wish: { concurrency: PLACES }, lastsMs: LONG_MS, allowed: (PLACES * 1000) / LONG_MS },
  { name: `max_calls ${LINES}`, wish: { max_calls: LINES }, lastsMs: LONG_MS, allowed: (LINES * 1000) / LONG_MS },
  { name: `money for ${PAID}`, wish: { money: hold }, lastsMs: LONG_MS, allowed: (PAID * 1000) / LONG_MS },
]

export async function benchPace({ seconds, report }: PaceBench): Promise<Line[]> {
  const world = await openCampaignWorld(report, { trial_balance: '0' })
  const { deps } = world
  const engine = forkRemote<PaceEngineHandlers>(fileURLToPath(new URL('pace-engine.ts', import.meta.url)))
  const hold = costOf(tariffAt(deps.config, 'out', null), HOLD_SECONDS)
  const all = cases(fromUnits(hold * BigInt(PAID)))
  const lasts = new Map<string, number>()
  const trunks: string[] = []
  for (const [index, { wish, lastsMs, allowed }] of all.entries()) {
    const contacts = Math.ceil(2 * allowed * (seconds + SETTLES_MS / 1000))
    const trunk = await fillCampaign(deps, { index, contacts, concurrency: MOST, status: 'draft', ...wish })
    trunks.push(trunk)
    lasts.set(trunk, lastsMs)
  }
  const control = await startControl(deps)
  try {
    await engine.ask.open({ redisUrl: world.redisUrl, secret: SECRET, lasts })
    await startCampaigns(deps)
    report(`Calling ${all.length} campaigns for ${seconds} s`)
    await pause(SETTLES_MS)
    await engine.ask.dialed()
    await pause(seconds * 1000)
    const dialed = await engine.ask.dialed()
    return all.flatMap((one, i) => linesOf(one, dialed.get(trunks[i]!) ?? [], seconds))
  } finally {
    engine.stop()
    await control.stop()
    await world.stop()
  }
}

const pause = (ms: number) => new Promise(resolve => setTimeout(resolve, ms))

function linesOf({ name, wish, allowed }: Case, dialed: readonly number[], seconds: number): Line[] {
  const rate = dialed.length / seconds
  const share = { value: rate, reference: allowed, unit: 'attempts/s', ratio: rate / allowed }
  const lines: Line[] = [{ name: `campaign pace: ${name}`, ...share, wanted: `≥ ${WANTED}`, ok: share.ratio >= WANTED }]
  if (wish.max_cps === undefined) return lines
  const [value, reference] = [mostInASecond(dialed), wish.max_cps]
  const most = { value, reference, unit: 'attempts', ratio: value / reference }
  lines.push({ name: `campaign pace: ${name}, most in any second`, ...most, wanted: '≤ 1', ok: value <= reference })
  return lines
}

function mostInASecond(times: readonly number[]): number {
  let [most, first] = [0, 0]
  for (const [index, at] of times.entries()) {
    while (times[first]! <= at - 1000) first++
    most = Math.max(most, index - first + 1)
  }
  return most
}
