/** Traces over the wire: the spans that a receiver of OTLP gets, and behaviour when it is down or slow. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../infra/adapters/clock.ts'
import { openTracing, type ProcessTracing } from '../../infra/adapters/tracing.ts'
import { ConfigError, readConfig, readPairs } from '../../infra/config/config.ts'
import { noTracing } from '../../media/shared/tracing.ts'
import { type OtlpReceiver, startOtlp } from '../support/otlp.ts'
import { recordingLog, until } from '../support/world.ts'

const CLIENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331'
const home = { PARLEY_HOME: '/nowhere', PARLEY_SECRET: 'sixteen letters and more' }
const settings = (env: Record<string, string>) => readConfig({ ...home, ...env }, { make: false })

let opened: ProcessTracing[] = []
let log: ReturnType<typeof recordingLog>
const open = async (env: Record<string, string>) => {
  const tracing = await openTracing(settings(env), { name: 'control', instance: 'one', clock: systemClock, log })
  opened.push(tracing)
  return tracing
}
beforeEach(() => {
  log = recordingLog()
})
afterEach(async () => {
  await Promise.all(opened.map(tracing => tracing.close()))
  opened = []
})

describe('a receiver', () => {
  let receiver: OtlpReceiver
  beforeEach(async () => {
    receiver = await startOtlp()
  })
  afterEach(() => receiver.close())

  it('receives spans with names, parents, kinds, times, attributes and errors', async () => {
    const { tracing, close } = await open({
      OTEL_EXPORTER_OTLP_ENDPOINT: `${receiver.url}/`,
      OTEL_EXPORTER_OTLP_HEADERS: 'x-key=a%2Cb%3D, other = c',
    })
    const root = tracing.start('POST /v1/public/calls', {
      kind: 'server',
      parent: `${CLIENT}-01`,
      startMs: 1_800_000_000_000,
    })
    const child = tracing.start('call', { kind: 'consumer', parent: root.traceparent, startMs: 1_800_000_000_250 })
    child.set({ 'parley.call.status': 'failed', count: 3, share: 0.5, yes: true })
    child.end({ endMs: 1_800_000_001_000, error: 'busy' })
    child.end({ endMs: 1_800_000_009_000 })
    root.end({ endMs: 1_799_999_999_000 })
    tracing.start('alone', { parent: 'nonsense' }).end()
    await close()
    const [got] = receiver.headers
    expect(got).toMatchObject({ 'content-type': 'application/json', 'x-key': 'a,b=', other: 'c' })
    const [call, post, alone] = ['call', 'POST /v1/public/calls', 'alone'].map(
      name => receiver.spans.find(span => span.name === name)!,
    )
    expect(receiver.spans).toHaveLength(3)
    expect(root.traceparent).toBe(`00-${post!.traceId}-${post!.spanId}-01`)
    expect(post).toMatchObject({
      service: 'parley-control',
      traceId: CLIENT.slice(3, 35),
      parentId: CLIENT.slice(36),
      kind: 2,
      failed: false,
      // The clock was set back meanwhile.
      startMs: 1_800_000_000_000,
      endMs: 1_800_000_000_000,
    })
    expect(call).toMatchObject({
      traceId: post!.traceId,
      parentId: post!.spanId,
      kind: 5,
      failed: true,
      startMs: 1_800_000_000_250,
      endMs: 1_800_000_001_000,
      attributes: { 'parley.call.status': 'failed', count: 3, share: 0.5, yes: true, 'error.type': 'busy' },
    })
    expect(alone).toMatchObject({ parentId: null, kind: 1 })
    expect(alone!.traceId).not.toBe(post!.traceId)
    expect(Math.abs(alone!.endMs - Date.now())).toBeLessThan(60_000)
    expect(log.lines).toEqual([])
  })

  it('receives no unsampled traces; the sampling flag is forwarded', async () => {
    const { tracing, close } = await open({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, OTEL_SERVICE_NAME: 'ours' })
    const left = tracing.start('left', { parent: `${CLIENT}-00` })
    expect(left.traceparent).toMatch(new RegExp(`^${CLIENT.slice(0, 35)}-[0-9a-f]{16}-00$`))
    tracing.start('below', { parent: left.traceparent }).end()
    left.end()
    tracing.start('kept').end()
    await close()
    expect(receiver.spans.map(({ name, service }) => [name, service])).toEqual([['kept', 'ours']])
  })

  it('receives batches after seconds; failures are logged once', async () => {
    const { tracing } = await open({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url })
    receiver.answer(response => response.writeHead(400).end('Ivan is not welcome'))
    const refused = 'exporting traces failed, traces are dropped'
    for (const round of [1, 2]) {
      tracing.start('refused').end()
      await until(() => receiver.headers.length === round, `request ${round}`)
    }
    await until(() => log.lines.length > 0, 'the warning')
    receiver.answer(response => response.writeHead(200, { 'content-type': 'application/json' }).end('{}'))
    tracing.start('taken').end()
    await until(() => log.lines.at(-1)?.message === 'exporting traces resumed', 'the word that it is back')
    expect(log.lines.map(({ level, message }) => [level, message])).toEqual([
      ['warn', refused],
      ['info', 'exporting traces resumed'],
    ])
    expect(JSON.stringify(log.lines)).not.toContain('Ivan')
  })
})

describe('a receiver that is', () => {
  const MANY = 20_000

  it('unreachable drops spans with one log line and no delay', async () => {
    const { tracing, close } = await open({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' })
    for (let i = 0; i < MANY; i++) tracing.start('lost').end()
    await until(() => log.lines.length > 0, 'the warning', 20_000)
    for (let i = 0; i < MANY; i++) tracing.start('lost').end()
    const began = performance.now()
    await close()
    expect(performance.now() - began).toBeLessThan(4000)
    expect(log.lines.map(({ level }) => level)).toEqual(['warn'])
  })

  it('slow receives what the queue holds; the rest is dropped', async () => {
    const receiver = await startOtlp()
    try {
      const { tracing } = await open({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url })
      // In one go: what is there when the first 512 are full is on its way, then 4096 wait.
      for (let i = 0; i < MANY; i++) tracing.start('one of many').end()
      await receiver.wait(() => true, 512 + 4096, 'what had room')
      // They come in order.
      tracing.start('after').end()
      await receiver.wait(({ name }) => name === 'after', 1, 'what came after them')
      expect(receiver.spans).toHaveLength(512 + 4096 + 1)
    } finally {
      await receiver.close()
    }
  })

  it('silent does not delay shutdown', async () => {
    let asked = false
    const silent: Server = createServer(request => {
      asked = true
      request.resume()
    })
    await new Promise<void>(resolve => silent.listen(0, '127.0.0.1', resolve))
    try {
      const { port } = silent.address() as AddressInfo
      const { tracing, close } = await open({ OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}` })
      for (let i = 0; i < MANY; i++) tracing.start('lost').end()
      await until(() => asked, 'a request')
      const began = performance.now()
      await close()
      expect(performance.now() - began).toBeLessThan(4000)
    } finally {
      silent.closeAllConnections()
      silent.close()
    }
  })
})

describe('the settings', () => {
  it('disable tracing when unset', async () => {
    expect((await open({})).tracing).toBe(noTracing)
    expect((await open({ OTEL_EXPORTER_OTLP_ENDPOINT: '' })).tracing).toBe(noTracing)
  })

  it.each([
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4318'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'grpc://collector:4317'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'a key'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'key=100%'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'key=%ff'],
  ])('reject %s as %s without showing it', (name, value) => {
    try {
      settings({ [name]: value })
    } catch (error) {
      expect(error).toBeInstanceOf(ConfigError)
      expect((error as Error).message).toContain(name)
      expect((error as Error).message).not.toContain(value)
      return
    }
    throw new Error('it was taken')
  })

  it('parse headers as pairs', () => {
    expect(readPairs('a=1,,b=x%20y, c = d=e,')).toEqual({ a: '1', b: 'x y', c: 'd=e' })
    expect(readPairs('')).toEqual({})
  })
})
