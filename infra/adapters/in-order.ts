import type { Log } from '../../media/shared/log.ts'

/** Runs steps one after another without waiting for them. A failed step is logged as `words`, and the next one runs. */
export function inOrder(log: Log, words: string): (step: () => Promise<unknown>) => void {
  let work: Promise<unknown> = Promise.resolve()
  return step => {
    work = work.then(step).catch(error => log.error({ err: error }, words))
  }
}
