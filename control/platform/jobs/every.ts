import type { Deps } from '../deps.ts'
import { errorFields } from '../log.ts'

/** Runs `work` repeatedly with a pause in between; `stop` waits for the current run. */
export function every(
  deps: Pick<Deps, 'clock' | 'log'>,
  ms: number,
  name: string,
  work: () => Promise<void>,
): { stop(): Promise<void> } {
  let running = true
  let current = Promise.resolve()
  let cancel = () => {}
  const round = () => {
    current = work()
      .catch(error => deps.log.error({ error: errorFields(error), name }, 'sweep failed'))
      .then(() => {
        if (running) cancel = deps.clock.after(ms, round)
      })
  }
  round()
  return {
    async stop() {
      running = false
      cancel()
      await current
    },
  }
}
