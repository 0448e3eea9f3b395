import type { Log } from '../../media/shared/log.ts'

/** Steps one after another, that nobody waits for: one that fails is logged as `words`, and the next is taken. */
export function inOrder(log: Log, words: string): (step: () => Promise<unknown>) => void {
  let work: Promise<unknown> = Promise.resolve()
  return step => {
    work = work.then(step).catch(error => log.error({ err: error }, words))
  }
}
