/**
 * Attempts per second that control alone can start, with everything real except the engines: claims, money, jobs,
 * plans, bus.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { startControl } from '../../control/app.ts'
import type { Deps } from '../../control/deps.ts'
import { fillCampaign, openCampaignWorld, startCampaigns } from './campaign-world.ts'
import type { Line } from './report.ts'

export interface DialingBench {
  /** Contacts of the campaign used to measure memory. */
  large: number
  report(text: string): void
}

const CAMPAIGNS = 120
const CONCURRENCY = 100
const WANTED_A_SECOND = 500
/** Most additional heap for a larger campaign, in MB. */
const WANTED_GROWTH_MB = 16

export async function benchDialing({ large, report }: DialingBench): Promise<Line[]> {
  const world = await openCampaignWorld(report)
  const { bus } = world.deps
  const placed: number[] = []
  const deps: Deps = {
    ...world.deps,
    bus: {
      ...bus,
      engines: async () => [
        { engine: 'stub', boot: '1', at: Date.now(), calls: 0, capacity: 1_000_000, stt_ready: true, rooms: false },
      ],
      async place(command) {
        await bus.place(command)
        placed.push(performance.now())
      },
    },
  }
  const control = await startControl(deps)
  try {
    report(`Dialing ${CAMPAIGNS} campaigns with a concurrency of ${CONCURRENCY}`)
    const same = { contacts: CONCURRENCY, concurrency: CONCURRENCY, status: 'draft' } as const
    for (let index = 0; index < CAMPAIGNS; index++) await fillCampaign(deps, { ...same, index })
    await startCampaigns(deps)
    await until(() => placed.length >= CAMPAIGNS * CONCURRENCY)
    // Excludes ramp-up and ramp-down.
    const middle = placed.slice(Math.floor(placed.length * 0.1), Math.floor(placed.length * 0.9))
    const rate = ((middle.length - 1) * 1000) / (middle.at(-1)! - middle[0]!)
    const small = heapMb()
    await fillCampaign(deps, { ...same, index: CAMPAIGNS, contacts: large, status: 'running' })
    await until(() => placed.length >= CAMPAIGNS * CONCURRENCY + CONCURRENCY)
    const growth = Math.max(0, heapMb() - small)
    return [
      {
        name: 'campaign attempts begun',
        value: rate,
        reference: WANTED_A_SECOND,
        unit: 'attempts/s',
        ratio: rate / WANTED_A_SECOND,
        wanted: '≥ 1',
        ok: rate >= WANTED_A_SECOND,
      },
      {
        name: `heap with ${large} contacts more`,
        value: growth,
        reference: WANTED_GROWTH_MB,
        unit: 'MB',
        ratio: growth / WANTED_GROWTH_MB,
        wanted: '≤ 1',
        ok: growth <= WANTED_GROWTH_MB,
      },
    ]
  } finally {
    await control.stop()
    await world.stop()
  }
}

async function until(look: () => boolean): Promise<void> {
  for (const endAt = performance.now() + 120_000; !look(); await sleep(20)) {
    if (performance.now() > endAt) throw new Error('the dialer made no progress within 120 s')
  }
}

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

function heapMb(): number {
  collect()
  return process.memoryUsage().heapUsed / 1e6
}
