import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest'
import { systemClock } from '../../../infra/adapters/clock.ts'
import { type ControlBus, createControlBus } from '../../../media/bus/control-bus.ts'
import { createEngineBus, type EngineBus, RequestTimeout } from '../../../media/bus/engine-bus.ts'
import { busKeys } from '../../../media/bus/keys.ts'
import type { StreamReader } from '../../../media/bus/streams.ts'
import type { BusEvent, CallEvent } from '../../../media/contract/messages.ts'
import type { CallPlan } from '../../../media/contract/plan.ts'
import { createSealer } from '../../../media/contract/seal.ts'
import { plan } from '../../fakes/plan.ts'
import { quietLog, until } from '../../support/world.ts'

let redis: Redis
let prefix: string
let control: ControlBus
const engines: EngineBus[] = []
const readers: StreamReader[] = []
const keep = <T extends StreamReader>(reader: T) => {
  readers.push(reader)
  return reader
}
const sealer = createSealer('a secret for tests')
const engineNamed = (engine: string) => {
  const bus = createEngineBus({ redis, sealer, engine, clock: systemClock, log: quietLog, prefix })
  engines.push(bus)
  return bus
}
const controlNamed = (consumer: string) => createControlBus({ redis, sealer, consumer, log: quietLog, prefix })

beforeEach(() => {
  redis = new Redis(inject('redisUrl'))
  prefix = `bus-${randomUUID()}`
  control = controlNamed('c1')
})
afterEach(async () => {
  await Promise.all(readers.splice(0).map(reader => reader.stop()))
  await Promise.all(engines.splice(0).map(engine => engine.close()))
  redis.disconnect()
})

const place = (call: CallPlan, inMs = 60_000) =>
  control.place({ type: 'call.place', plan: call, deadline: Date.now() + inMs })
const count = (calls: string[]) => new Map(calls.map(id => [id, calls.filter(other => other === id).length]))

describe('commands', () => {
  it('reach exactly one engine, once', async () => {
    const taken: string[] = []
    for (const name of ['e1', 'e2', 'e3'])
      keep(
        engineNamed(name).onPlace(
          () => 10,
          call => taken.push(call.call_id),
        ),
      )
    const calls = Array.from({ length: 30 }, () => plan())
    await Promise.all([...calls, ...calls].map(call => place(call)))
    await until(() => taken.length >= 30)
    await until(async () => (await redis.xlen(busKeys(prefix).commands)) === 0)
    expect([...count(taken).values()]).toEqual(calls.map(() => 1))
  })

  it('are not claimed by a full engine', async () => {
    let room = 0
    const taken: string[] = []
    keep(
      engineNamed('full').onPlace(
        () => room,
        call => taken.push(call.call_id),
      ),
    )
    await place(plan())
    await new Promise(resolve => setTimeout(resolve, 300))
    expect(taken).toHaveLength(0)
    room = 1
    await until(() => taken.length === 1)
  })

  it('expire at their deadline', async () => {
    const [stale, fresh] = [plan(), plan()]
    await place(stale, -1)
    await place(fresh)
    const taken: string[] = []
    keep(
      engineNamed('late').onPlace(
        () => 5,
        call => taken.push(call.call_id),
      ),
    )
    await until(() => taken.length > 0)
    expect(taken).toEqual([fresh.call_id])
  })

  it('are claimed by an engine or withdrawn by control, never both', async () => {
    const taken = new Set<string>()
    keep(
      engineNamed('racer').onPlace(
        () => 100,
        call => void taken.add(call.call_id),
      ),
    )
    const calls = Array.from({ length: 60 }, () => plan())
    const withdrawn = new Set<string>()
    await Promise.all(
      calls.map(async (call, i) => {
        await place(call)
        if (i % 3 === 0) await new Promise(resolve => setImmediate(resolve))
        if (await control.withdraw(call.call_id)) withdrawn.add(call.call_id)
      }),
    )
    await until(() => taken.size + withdrawn.size === calls.length)
    expect([...taken].filter(id => withdrawn.has(id))).toEqual([])
  })

  it('delivered to a dying engine are dialled by another', async () => {
    const { commands } = busKeys(prefix)
    await redis.xgroup('CREATE', commands, 'engines', '0', 'MKSTREAM').catch(() => {})
    const call = plan()
    await place(call)
    await redis.xreadgroup('GROUP', 'engines', 'dead', 'COUNT', 10, 'STREAMS', commands, '>')
    const taken: string[] = []
    for (const name of ['heir', 'other'])
      keep(
        engineNamed(name).onPlace(
          () => 1,
          ({ call_id }) => taken.push(call_id),
        ),
      )
    await until(() => taken.length > 0)
    await until(async () => (await redis.xlen(commands)) === 0)
    expect(taken).toEqual([call.call_id])
  })

  it('reach the engine of the call', async () => {
    const engine = engineNamed('holder')
    const call = plan()
    keep(
      engine.onPlace(
        () => 1,
        () => {},
      ),
    )
    const asked: string[] = []
    keep(engine.onCommand(command => asked.push(`${command.call_id} ${command.type}`)))
    expect(await control.command({ type: 'call.hangup', call_id: call.call_id, reason: 'api_hangup' })).toBe(false)
    await place(call)
    await until(() => control.holder(call.call_id))
    expect(await control.command({ type: 'call.hangup', call_id: call.call_id, reason: 'api_hangup' })).toBe(true)
    await until(() => asked.length > 0)
    expect(asked).toEqual([`${call.call_id} call.hangup`])
    await engine.dropLease(call.call_id)
    expect(await control.holder(call.call_id)).toBeNull()
  })
})

describe('events', () => {
  it('arrive in order and numbered, and are acknowledged after the handler', async () => {
    const seen: CallEvent[] = []
    keep(control.onEvents(async event => void ('call_id' in event && seen.push(event as CallEvent))))
    const call = plan()
    const emit = engineNamed('e').emitter(call)
    for (let ms = 1; ms <= 20; ms++) await emit({ type: 'call.progress', talked_ms: ms })
    await until(() => seen.length === 20)
    expect(seen.map(event => event.seq)).toEqual(Array.from({ length: 20 }, (_, i) => i + 1))
    await until(async () => ((await redis.xpending(busKeys(prefix).events, 'control')) as [number])[0] === 0)
  })

  it('of a dead consumer are taken over', async () => {
    const keys = busKeys(prefix)
    const emit = engineNamed('e').emitter(plan())
    await emit({ type: 'call.ringing' })
    await redis.xgroup('CREATE', keys.events, 'control', '0', 'MKSTREAM')
    await redis.xreadgroup('GROUP', 'control', 'dead', 'COUNT', 10, 'STREAMS', keys.events, '>')
    // As if it had died a minute ago.
    const [[id]] = (await redis.xpending(keys.events, 'control', '-', '+', 10)) as [[string]]
    await redis.call('XCLAIM', keys.events, 'control', 'dead', 0, id, 'IDLE', 60_000, 'JUSTID')
    const seen: BusEvent[] = []
    keep(controlNamed('c2').onEvents(async event => void seen.push(event)))
    await until(() => seen.length === 1)
    expect(seen[0]!.type).toBe('call.ringing')
  })

  it('that do not match the schema go to the dead-letter stream', async () => {
    const keys = busKeys(prefix)
    const seen: BusEvent[] = []
    keep(control.onEvents(async event => void seen.push(event)))
    await redis.xadd(keys.events, '*', 'event', '{"type":"call.invented"}')
    await engineNamed('e').emitEngine('engine.started')
    await until(() => seen.length === 1)
    expect(await redis.xlen(keys.deadEvents)).toBe(1)
  })

  it('are trimmed when handled and old', async () => {
    const keys = busKeys(prefix)
    const old = async (ms: number) => redis.xadd(keys.events, `${ms}-0`, 'event', '{"type":"call.invented"}')
    await Promise.all([old(1000), old(2000), old(3000)])
    await control.trim() // before the first read: the group does not exist yet
    expect(await redis.xlen(keys.events)).toBe(3)
    await redis.xgroup('CREATE', keys.events, 'control', '0')
    await redis.xreadgroup('GROUP', 'control', 'c1', 'COUNT', 3, 'STREAMS', keys.events, '>')
    await redis.xack(keys.events, 'control', '1000-0', '3000-0')
    await control.trim()
    expect((await redis.xrange(keys.events, '-', '+')).map(([id]) => id)).toEqual(['2000-0', '3000-0'])
    await redis.xack(keys.events, 'control', '2000-0')
    await old(4000)
    await engineNamed('e').emitter(plan())({ type: 'call.ringing' })
    await control.trim()
    const left = (await redis.xrange(keys.events, '-', '+')).map(([id]) => id)
    expect(left.slice(0, 2)).toEqual(['3000-0', '4000-0']) // the last one that was read, and what was not
    await redis.xreadgroup('GROUP', 'control', 'c1', 'COUNT', 9, 'STREAMS', keys.events, '>')
    await redis.xack(keys.events, 'control', ...left)
    await control.trim()
    expect(await redis.xlen(keys.events)).toBe(1) // the recent one, for followers
  })

  it('can be followed for one call from a position', async () => {
    const [one, other] = [plan(), plan()]
    const engine = engineNamed('e')
    const emit = engine.emitter(one)
    await emit({ type: 'call.ringing' })
    const seen: string[] = []
    keep(control.follow(one.call_id, event => seen.push(event.type), '0-0'))
    await engine.emitter(other)({ type: 'call.ringing' })
    await emit({ type: 'call.progress', talked_ms: 5 })
    await until(() => seen.length === 2)
    expect(seen).toEqual(['call.ringing', 'call.progress'])
  })
})

describe('requests', () => {
  const extend = { call_id: randomUUID(), owner_id: randomUUID(), talked_ms: 1000 }

  it('are answered', async () => {
    keep(
      control.onRequests({
        'call.admit': async () => ({ admitted: false, refusal: 'unknown_number' }),
        'call.extend': async request => ({ paid_ms: request.talked_ms + 60_000 }),
        'call.bridge': async () => ({ granted: true }),
        'knowledge.search': async () => ({ found: [] }),
      }),
    )
    const engine = engineNamed('e')
    expect(await engine.request('call.extend', extend, 5000)).toEqual({ paid_ms: 61_000 })
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) => engine.request('call.extend', { ...extend, talked_ms: i }, 5000)),
    )
    expect(answers.map(answer => answer.paid_ms)).toEqual(Array.from({ length: 20 }, (_, i) => 60_000 + i))
  })

  it('time out, also when a handler fails', async () => {
    const engine = engineNamed('e')
    await expect(engine.request('call.extend', extend, 100)).rejects.toThrow(RequestTimeout)
    keep(
      control.onRequests({
        'call.admit': async () => ({ admitted: false, refusal: 'not_ready' }),
        'call.extend': async () => Promise.reject(new Error('database away')),
        'call.bridge': async () => ({ granted: false }),
        'knowledge.search': async () => ({ found: [] }),
      }),
    )
    await expect(engine.request('call.extend', extend, 5000)).rejects.toThrow(RequestTimeout)
  })
})

describe('trunks', () => {
  it('reach engines sealed, at start and at each change', async () => {
    const trunk = {
      id: randomUUID(),
      owner_id: randomUUID(),
      name: 'A',
      mode: 'ip' as const,
      host: '192.0.2.1',
      port: 5060,
      transport: 'udp' as const,
      username: 'u',
      password: 'very secret',
      realm: null,
      outbound_proxy: null,
      allowed_ips: [],
      codecs: ['PCMU' as const],
      max_calls: null,
      numbers: ['+12025550100'],
    }
    await control.publishTrunks({ v: 1, version: 1, trunks: [trunk] })
    const directory = await engineNamed('e').trunks()
    readers.push(directory)
    expect(directory.all()).toMatchObject([trunk])
    let changes = 0
    directory.onChange(() => changes++)
    await control.publishTrunks({ v: 1, version: 2, trunks: [] })
    await until(() => changes > 0)
    expect(directory.all()).toEqual([])
    await control.publishTrunks({ v: 1, version: 3, trunks: [trunk] })
    expect(await redis.get(busKeys(prefix).trunks)).not.toContain('secret')
  })
})

describe('the seal', () => {
  it('opens only its own data with the same associated data', () => {
    const sealed = sealer.seal({ key: 'value' }, 'call-1')
    expect(sealer.open(sealed, 'call-1')).toEqual({ key: 'value' })
    expect(() => sealer.open(sealed, 'call-2')).toThrow()
    expect(() => createSealer('another secret').open(sealed, 'call-1')).toThrow()
    const bytes = Buffer.from(sealed, 'base64url')
    bytes[bytes.length - 1]! ^= 1
    expect(() => sealer.open(bytes.toString('base64url'), 'call-1')).toThrow()
  })
})
