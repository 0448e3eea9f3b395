/** From a change in the API to its effect at the carrier: Postgres, Redis, the edges of two engines, and the wire. */
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Control, startControl } from '../../../control/app.ts'
import { handleEvent } from '../../../control/background/engine.ts'
import { headerOf, type SipRequest } from '../../../sip/text/message.ts'
import { parseMessage } from '../../../sip/text/parse.ts'
import { needsOwner } from '../../../sip/trunk/edge.ts'
import { createControl, createTenant, nextPhone, type TestControl } from '../../support/control.ts'
import { Bench } from './bench.ts'

const MOST_MS = 2000

let control: TestControl
let running: Control
const closers: (() => Promise<void> | void)[] = []
beforeAll(async () => {
  control = await createControl()
  running = await startControl(control.deps)
})
afterAll(async () => {
  for (const close of closers.splice(0).reverse()) await close()
  await running?.stop()
  await control?.close()
})

/** An engine's signalling as `infra/bin/engine.ts` puts it together. */
async function engine(name: string): Promise<Bench> {
  const bus = control.engine(name)
  const directory = await bus.trunks()
  const bench: Bench = await Bench.start({}, { directory, mayRegister: id => leases.holds(id) })
  const wanted = () =>
    directory
      .all()
      .filter(needsOwner)
      .map(({ id }) => id)
  const leases = bus.trunkLeases({ wanted, onChange: () => bench.edge.syncRegistrations() })
  directory.onChange(() => void leases.sync())
  closers.push(async () => {
    await bench.close()
    await leases.stop()
    await directory.stop()
  })
  return bench
}

/** Says yes to every REGISTER, from wherever it came, and hands over each once. */
class Carrier {
  readonly port: number
  readonly #seen = new Set<string>()
  readonly #came: SipRequest[] = []
  #wake = () => {}

  private constructor(socket: Socket) {
    this.port = socket.address().port
    socket.on('message', (bytes, from) => {
      const parsed = parseMessage(bytes)
      if (!parsed.ok || parsed.message.kind !== 'request') return
      const { message } = parsed
      const copied = message.headers.filter(([name]) => ['Via', 'From', 'To', 'Call-ID', 'CSeq'].includes(name))
      const lines = copied.map(([name, value]) => `${name}: ${value}`)
      socket.send(['SIP/2.0 200 OK', ...lines, 'Content-Length: 0', '', ''].join('\r\n'), from.port, from.address)
      const key = `${headerOf(message, 'Call-ID')} ${headerOf(message, 'CSeq')}`
      if (this.#seen.has(key)) return // It is sent again until the answer is there.
      this.#seen.add(key)
      this.#came.push(message)
      this.#wake()
    })
  }

  static async open(): Promise<Carrier> {
    const socket = createSocket('udp4').bind(0, '127.0.0.1')
    await once(socket, 'listening')
    closers.push(() => void socket.close())
    return new Carrier(socket)
  }

  /** Returns the account's address and the Contact, which has a user of its own. */
  async register(): Promise<string> {
    for (;;) {
      const next = this.#came.shift()
      if (next !== undefined) return `${headerOf(next, 'To')} ${headerOf(next, 'Contact')}`
      await new Promise<void>(resolve => {
        this.#wake = resolve
      })
    }
  }
}

test('a trunk is registered by one engine, anew when it changes, and no more when it goes, each within two seconds', async () => {
  const carrier = await Carrier.open()
  const benches = await Promise.all([engine('one'), engine('two')])
  const owner = await createTenant(control)
  const timed = async (change: () => Promise<unknown>, wanted: RegExp): Promise<string> => {
    const startedAt = performance.now()
    const seen = (async () => {
      for (;;) {
        const contact = await carrier.register()
        if (wanted.test(contact)) return contact
      }
    })()
    const [, contact] = await Promise.all([change(), seen])
    expect(performance.now() - startedAt).toBeLessThan(MOST_MS)
    return contact
  }
  const settings = { name: 'Live', mode: 'register', host: '127.0.0.1', username: 'live', password: 'one' }
  let path = ''
  const create = async () => {
    const { body } = await owner.call('POST', '/trunks', { ...settings, port: carrier.port, numbers: [nextPhone()] })
    path = `/trunks/${body.id}`
  }
  const first = await timed(create, /^<sip:live@.* <sip:t[0-9a-f]{24}@.*expires=300$/)
  const holder = benches.find(bench => first.includes(`:${bench.rig.udpPort}>`))!
  await holder.until(() => holder.statuses.at(-1)?.registration === 'registered')
  const second = await timed(
    () => owner.call('PATCH', path, { username: 'renamed' }),
    /^<sip:renamed@.* <sip:t[0-9a-f]{24}@.*expires=300$/,
  )
  expect(second).toContain(`:${holder.rig.udpPort}>`)
  await holder.until(() => holder.statuses.at(-1)?.registration === 'registered')
  await timed(() => owner.call('DELETE', path), /^<sip:renamed@.* <sip:t[0-9a-f]{24}@.*expires=0$/)
  const other = benches.find(bench => bench !== holder)!
  expect(other.statuses).toEqual([])
})

test('what an engine tells of the hosts is in the API', async () => {
  const owner = await createTenant(control)
  const hosts = [{ host: 'b.example', port: 5080, transport: 'tcp' as const }]
  const { body } = await owner.call('PATCH', `/trunks/${owner.trunkId}`, { hosts, options_interval_seconds: 30 })
  const first = { host: '127.0.0.1', port: 5060, transport: 'udp' as const }
  expect(body.status).toMatchObject({
    last_options_ms: null,
    hosts: [
      { ...first, alive: null },
      { ...hosts[0], alive: null },
    ],
  })
  await handleEvent(control.deps, {
    v: 1,
    type: 'trunk.status',
    trunk_id: owner.trunkId,
    owner_id: owner.ownerId,
    registration: 'none',
    last_error: null,
    at: Date.now(),
    hosts: [
      { ...first, alive: false, options_ms: null, targets: [] },
      { ...hosts[0]!, alive: true, options_ms: 41, targets: [] },
      { host: 'gone.example', port: 5060, transport: 'udp', alive: true, options_ms: 1, targets: [] },
    ],
  })
  const told = (await owner.call('GET', `/trunks/${owner.trunkId}`)).body
  expect(told.status).toMatchObject({
    last_options_ms: 41,
    hosts: [
      { ...first, alive: false, options_ms: null },
      { ...hosts[0], alive: true, options_ms: 41 },
    ],
  })
})
