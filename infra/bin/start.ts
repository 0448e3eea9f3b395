/**
 * Starts everything on one machine: finds or installs what is missing, starts the parts in order of dependency, places
 * the demo call, keeps running, and stops in reverse order. A configured URL replaces the embedded part.
 */
import { parseArgs } from 'node:util'
import { mayReach } from '../../media/shared/addresses.ts'
import { ConfigError, readConfig } from '../config/config.ts'
import { runDemoCall } from '../demo/call.ts'
import { HomeInUse, lockHome } from '../embedded/home.ts'
import { Launch } from '../launch/launch.ts'
import { fetchRussianStt, prepare } from '../launch/prepare.ts'
import { printAddresses } from '../launch/print-addresses.ts'
import { RunningParts } from '../launch/running-parts.ts'
import { startStack } from '../launch/stack.ts'
import { createReporter } from '../setup/prepare.ts'

const { values: options } = parseArgs({
  options: { 'demo-only': { type: 'boolean', default: false }, 'no-demo': { type: 'boolean', default: false } },
})

/** Milliseconds: one Ctrl-C arrives several times, from the terminal, from npm and from set-up. */
const SAME_SIGNAL_MS = 1000
const reporter = createReporter()
const running = new RunningParts()
let drainSeconds = 0

let signalledMs = -Infinity
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    const again = performance.now() - signalledMs > SAME_SIGNAL_MS
    signalledMs = performance.now()
    if (!running.stopping) {
      const most = drainSeconds > 0 ? `, for up to ${drainSeconds} s. Press Ctrl-C again to end them now` : ''
      console.log(`\n· Stopping. Waiting for live calls to end${most}.`)
      void running.stop().then(() => process.exit(0))
    } else if (again) {
      if (!running.hurried) console.log('\n· Ending live calls now.')
      running.hurry()
    }
  })
}

try {
  const ok = await main()
  if (options['demo-only']) {
    await running.stop()
    process.exit(ok ? 0 : 1)
  }
} catch (error) {
  if (!running.stopping) {
    const known = error instanceof ConfigError || error instanceof HomeInUse
    console.log(`\n${known ? (error as Error).message : `Couldn’t start Parley: ${(error as Error).message}`}`)
    await running.stop()
    process.exit(1)
  }
}

async function main(): Promise<boolean> {
  const config = readConfig()
  drainSeconds = config.ENGINE_DRAIN_SECONDS
  const home = await lockHome(config.home)
  running.add('home', { stop: async () => home.release() })
  await prepare(config, reporter)
  // Files created from here on contain parts of calls, so only their owner may read them.
  process.umask(0o077)
  const started = reporter.step('Starting')
  const webCalls = !options['demo-only']
  const stack = await startStack(new Launch(config, home, reporter, running), { webCalls })
  started(stack.parts.join(', '))
  if (!options['demo-only']) fetchRussianStt(config, reporter, running)
  console.log(
    `· REST on ${stack.baseUrl}/v1/public, SIP on ${stack.sip.host}:${stack.sip.port}${stack.sttReady ? '' : '; speech-to-text is unavailable (see above)'}`,
  )
  const demo = !options['no-demo'] && mayReach(config.TRUNK_PRIVATE_HOSTS, '127.0.0.1')
  if (!demo && !options['no-demo'])
    reporter.say('Skipping the demo call: TRUNK_PRIVATE_HOSTS does not allow trunks on this machine.')
  const ok = !demo || (await runDemoCall(stack.demo, stack.world))
  if (!ok) console.log(`\nThe demo call failed. See the logs in ${home.logs}.`)
  if (!options['demo-only']) printAddresses(stack, config)
  return ok
}
