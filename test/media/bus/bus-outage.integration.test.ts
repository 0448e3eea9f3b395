/** The bus while Redis is down, rejects a command or holds invalid JSON. */
import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { describe, expect, inject, it } from 'vitest'
import { systemClock } from '../../../infra/adapters/clock.ts'
import { createControlBus } from '../../../media/bus/control-bus.ts'
import { createEngineBus, RequestTimeout } from '../../../media/bus/engine-bus.ts'
import { busKeys, claimCall } from '../../../media/bus/keys.ts'
import { createSealer } from '../../../media/contract/seal.ts'
import { plan } from '../../fakes/plan.ts'
import { quietLog, until } from '../../support/world.ts'

const sealer = createSealer('a secret for tests')

async function world<T>(use: (redis: Redis, prefix: string) => Promise<T>): Promise<T> {
  const redis = new Redis(inject('redisUrl'))
  try {
    return await use(redis, `bus-${randomUUID()}`)
  } finally {
    redis.disconnect()
  }
}
/** Wraps the connection, with an XADD that the test provides. */
const withXadd = (redis: Redis, xadd: (...args: never[]) => Promise<unknown>) =>
  new Proxy(redis, {
    get: (target, key) => {
      if (key === 'xadd') return xadd
      const value = Reflect.get(target, key)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })

describe('a claim', () => {
  it("that is repeated after a lost reply still succeeds; another engine's fails", () =>
    world(async (redis, prefix) => {
      const keys = busKeys(prefix)
      let again = true
      const broken = new Proxy(redis, {
        get: (target, key) => {
          const value = Reflect.get(target, key)
          if (key !== 'eval') return typeof value === 'function' ? value.bind(target) : value
          return async (...args: Parameters<Redis['eval']>) => {
            if (again) await target.eval(...args)
            again = false
            return target.eval(...args)
          }
        },
      })
      expect(await claimCall(broken, keys, { callId: 'c', who: 'engine|boot', deadline: 0 })).toBe(true)
      expect(await claimCall(broken, keys, { callId: 'c', who: 'engine|boot', deadline: 0 })).toBe(false)
    }))
})

describe('an engine', () => {
  it('without Redis gets timeouts in time, and no unhandled rejection', () =>
    world(async (redis, prefix) => {
      const unhandled: unknown[] = []
      const note = (reason: unknown) => unhandled.push(reason)
      process.on('unhandledRejection', note)
      const away = withXadd(redis, () => new Promise(() => {}))
      const bus = createEngineBus({ redis: away, sealer, engine: 'e', clock: systemClock, log: quietLog, prefix })
      const { call_id, owner_id } = plan()
      const outcome = await Promise.race([
        bus.request('call.extend', { call_id, owner_id, talked_ms: 0 }, 50).catch(error => error),
        new Promise(resolve => setTimeout(resolve, 500, 'still waiting')),
      ])
      expect(outcome).toBeInstanceOf(RequestTimeout)
      expect(unhandled).toEqual([])
      process.off('unhandledRejection', note)
      await bus.close()
    }))

  it('resends a rejected event with the same number', () =>
    world(async (redis, prefix) => {
      let refusals = 1
      const full = withXadd(redis, (...args) =>
        refusals-- > 0
          ? Promise.reject(new Error('MISCONF disk is full'))
          : redis.xadd(...(args as never as [string, string, string])),
      )
      const bus = createEngineBus({ redis: full, sealer, engine: 'e', clock: systemClock, log: quietLog, prefix })
      await bus.emitter(plan())({ type: 'call.ringing' })
      const sent = await redis.xrange(busKeys(prefix).events, '-', '+')
      expect(sent.map(([, fields]) => JSON.parse(fields[1]!).seq)).toEqual([1])
      await bus.close()
    }))
})

describe('control', () => {
  it('skips invalid JSON', () =>
    world(async (redis, prefix) => {
      const control = createControlBus({ redis, sealer, consumer: 'c', log: quietLog, prefix })
      await redis.xadd(busKeys(prefix).events, '*', 'event', '{"type":')
      const bus = createEngineBus({ redis, sealer, engine: 'e', clock: systemClock, log: quietLog, prefix })
      await bus.emitEngine('engine.started')
      const seen: string[] = []
      const reader = control.onEvents(async event => void seen.push(event.type))
      await until(() => seen.length === 1, 'the event behind it', 3000).finally(() => reader.stop())
      await bus.close()
    }))
})
