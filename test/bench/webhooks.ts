/**
 * Webhooks per second: real delivery jobs, from the queue to the log, against a loop that signs and sends equally many
 * at once.
 */
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { createAccount } from '../../control/access/accounts/service.ts'
import { startControl } from '../../control/app.ts'
import type { Deps } from '../../control/deps.ts'
import { deliverTo } from '../../control/webhooks/emit.ts'
import { createWebhook } from '../../control/webhooks/service.ts'
import { newSecret, signatureHeaders } from '../../control/webhooks/signature.ts'
import { createSafeFetch } from '../../infra/adapters/safe-fetch.ts'
import type { Line } from './report.ts'
import { type Forked, forkRemote } from './rpc.ts'
import type { ReceiverHandlers } from './webhook-receiver.ts'

/** Concurrent deliveries in one control process (`jobs.ts`); each owner gets at most a quarter. */
const AT_ONCE = 16
const OWNERS = 16
const A_TRANSACTION = 50

/** As long as the body of a call with several turns. */
const bodyOf = (n: number) =>
  JSON.stringify({ event: 'call.completed', call: { id: randomUUID(), n, summary: 'A table for four. '.repeat(60) } })

type Receiver = Forked<ReceiverHandlers>['ask']

export async function benchWebhooks(deps: Deps, count: number, report: (text: string) => void): Promise<Line> {
  const receiver = forkRemote<ReceiverHandlers>(join(import.meta.dirname, 'webhook-receiver.ts'))
  try {
    const port = await receiver.ask.open()
    const bare = await deliverBare(receiver.ask, port, count)
    const ours = await deliverOurs(deps, receiver.ask, port, count)
    report(`webhooks: ${Math.round(ours)} against ${Math.round(bare)} a second`)
    return {
      name: `webhooks delivered, ${AT_ONCE} at once`,
      value: ours,
      reference: bare,
      unit: 'deliveries/s',
      ratio: ours / bare,
      wanted: '-',
      ok: true,
    }
  } finally {
    receiver.stop()
  }
}

/** Written before control starts, so that the queue never runs empty. */
async function deliverOurs(deps: Deps, receiver: Receiver, port: number, count: number): Promise<number> {
  const secrets: Record<string, string> = {}
  for (let owner = 0; owner < OWNERS; owner++) {
    const { id: ownerId } = await createAccount(deps, { name: `Receiver ${owner}` })
    const url = `http://127.0.0.1:${port}/${owner}`
    const webhook = await createWebhook(deps, ownerId, { url, events: ['call.completed'] })
    secrets[owner] = webhook.secret
    for (let n = 0; n < count / OWNERS; n += A_TRANSACTION) {
      await deps.sql.begin(async tx => {
        for (let i = n; i < Math.min(n + A_TRANSACTION, count / OWNERS); i++) {
          await deliverTo(deps, tx, ownerId, webhook.id, 'call.completed', bodyOf(i))
        }
      })
    }
  }
  await deps.sql`analyze`
  await receiver.expect(secrets)
  const all = receiver.arrived(count)
  const control = await startControl({ ...deps, fetch: createSafeFetch({ allow: [`127.0.0.1:${port}`] }) })
  try {
    return rateOf(await all)
  } finally {
    await control.stop()
  }
}

async function deliverBare(receiver: Receiver, port: number, count: number): Promise<number> {
  const secret = newSecret()
  await receiver.expect({ bare: secret })
  const all = receiver.arrived(count)
  let left = count
  const send = async () => {
    while (left-- > 0) {
      const body = bodyOf(left)
      const headers = {
        'content-type': 'application/json',
        ...signatureHeaders({ id: randomUUID(), body, atMs: Date.now() }, [secret]),
      }
      await (await fetch(`http://127.0.0.1:${port}/bare`, { method: 'POST', headers, body })).arrayBuffer()
    }
  }
  await Promise.all([all, ...Array.from({ length: AT_ONCE }, send)])
  return rateOf(await all)
}

/** Excludes ramp-up and ramp-down. */
function rateOf(times: readonly number[]): number {
  const middle = times.slice(Math.floor(times.length * 0.1), Math.floor(times.length * 0.9))
  return ((middle.length - 1) * 1000) / (middle.at(-1)! - middle[0]!)
}
