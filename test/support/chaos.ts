/** Runs a storm over two engines and two controls with their own servers, and reports what it broke. */

import { judge, quiet, type Scene } from './chaos-checks.ts'
import { startPhones } from './chaos-phones.ts'
import { type Blow, inWords, planBlows, type StormSize } from './chaos-plan.ts'
import { prepareStorm, type Storm } from './chaos-storm.ts'
import { allBack, strike, thawAll, victimsOf } from './chaos-strike.ts'
import { logged } from './fleet.ts'
import { startOwnServers } from './own-servers.ts'
import { type Stack, startStack } from './stack.ts'

export interface Aftermath {
  /** Empty on success. */
  wrong: string[]
  /** For people: the strikes, the work in progress, and the processes' logs. */
  tale: string
  calls: number
  rings: number
}

/** Milliseconds; longer than the leases of dead engines plus a minute of control. */
const QUIET_MS = 80_000
const ERROR_LEVEL = 50
const ERRORS_TOLD = 15

export async function chaos(seed: number, size: StormSize): Promise<Aftermath> {
  const blows = planBlows(seed, size)
  const servers = await startOwnServers()
  let stack: Stack | null = null
  let storm: Storm | null = null
  const phones = await startPhones()
  try {
    stack = await startStack(servers.settings, { engines: 2, controls: 2 })
    storm = await prepareStorm(stack, phones)
    const victims = victimsOf(stack, servers)
    const struck: string[] = []
    const note = (blow: Blow, how: string) => void struck.push(`${inWords(blow)} (${how})`)
    await Promise.all([storm.rage(size.stormMs), strike(victims, blows, note)])
    const wrong = await aftermath({ stack, storm, phones, victims })
    const supervisors = [...stack.told, ...servers.told]
    const tale = [
      `Seed ${seed} (PARLEY_CHAOS_SEED=${seed} reproduces it):`,
      ...struck,
      ...summary(storm, phones.rings.length),
      ...(wrong.length > 0 ? ['Supervisors told:', ...supervisors, ...errorsOf(stack)] : []),
    ].join('\n')
    return { wrong, tale, calls: storm.customers.flatMap(({ wishes }) => wishes).length, rings: phones.rings.length }
  } finally {
    thawAll()
    await storm?.stop()
    await stack?.stop()
    phones.close()
    await servers.stop()
  }
}

async function aftermath(scene: Scene): Promise<string[]> {
  try {
    await allBack(scene.stack, scene.victims)
    await scene.storm.settled()
    const left = await quiet(scene.stack, QUIET_MS)
    return left.length > 0 ? left.map(what => `still under way: ${what}`) : await judge(scene)
  } catch (error) {
    return [String((error as Error).stack)] // a timeout is a failure, reported together with the strikes
  }
}

function summary({ customers, hooks }: Storm, rings: number): string[] {
  const wishes = customers.map(({ name, wishes }) => {
    const count = (outcome: string) => wishes.filter(wish => wish.outcome === outcome).length
    return `${name} wished for ${wishes.length} calls: ${count('placed')} placed, ${count('refused')} refused`
  })
  return [...wishes, `${rings} times a telephone rang, ${hooks.taken.length} webhooks were taken`]
}

function errorsOf({ controls, engines }: Stack): string[] {
  return [...controls, ...engines].flatMap(({ title, logFile }) => {
    const errors = logged([logFile]).filter(line => Number(line['level']) >= ERROR_LEVEL)
    return [`${title} logged ${errors.length} errors:`, ...errors.slice(-ERRORS_TOLD).map(line => JSON.stringify(line))]
  })
}
