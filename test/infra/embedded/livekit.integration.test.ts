/** The embedded WebRTC server: the real binary, from its start to its restart, with real clients. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { RoomServiceClient, WebhookReceiver } from 'livekit-server-sdk'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { readConfig } from '../../../infra/config/config.ts'
import { embeddedKeys, startLiveKit } from '../../../infra/embedded/livekit.ts'
import { freePort, holdPort } from '../../../infra/embedded/ports.ts'
import { planRooms } from '../../../infra/wiring/rooms.ts'
import { rms } from '../../../media/audio/frames.ts'
import { livekitBinary, startTestLiveKit, type TestLiveKit } from '../../support/livekit.ts'
import { createReceiver, type Receiver } from '../../support/receiver.ts'
import { joinRoom, ROOM_RATE } from '../../support/room-peer.ts'
import { until } from '../../support/world.ts'

const tone = (ms: number) =>
  Int16Array.from({ length: (ROOM_RATE * ms) / 1000 }, (_, i) => 8000 * Math.sin((2 * Math.PI * 440 * i) / ROOM_RATE))

describe('a held port', () => {
  it('rejects connections, is exclusive, and is free after its release', async () => {
    const held = await holdPort(await freePort(12_000), { udpToo: true })
    const turnedAway = new Promise(resolve => connect(held.port, '127.0.0.1').once('close', resolve).resume())
    await turnedAway
    expect(await freePort(held.port)).toBeGreaterThan(held.port)
    const next = await holdPort(held.port, { udpToo: true })
    expect(next.port).toBeGreaterThan(held.port)
    await Promise.all([held.release(), next.release()])
    expect(await freePort(held.port, '127.0.0.1', true)).toBe(held.port)
  })
})

describe.skipIf(livekitBinary === null)('the embedded server', () => {
  let folder: string
  const closers: (() => Promise<unknown>)[] = []
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parley-rooms-'))
  })
  afterEach(async () => {
    for (const close of closers.splice(0).reverse()) await close()
    await rm(folder, { recursive: true, force: true })
  })
  const options = (port: number, secret = 'a secret of this test') => ({
    ...embeddedKeys(secret),
    binary: livekitBinary!,
    port,
    logFile: join(folder, 'livekit.log'),
    report: (text: string) => void told.push(text),
  })
  const told: string[] = []

  it('listens on loopback alone', async () => {
    const { child } = await startLiveKit(options(await freePort(13_000, '127.0.0.1', true)))
    closers.push(() => child.stop())
    const addresses = () => {
      const all = socketsOf(child.pid)
      expect(new Set(all.map(address => address.split(':')[0]))).toEqual(new Set(['0100007F']))
      return all
    }
    // While it starts it tries each of its ports.
    await until(() => addresses().length === 2, 'one socket over TCP and one over UDP')
  })

  it('restarts on its port with its keys after a kill', async () => {
    const port = await freePort(13_000, '127.0.0.1', true)
    const { child, url } = await startLiveKit(options(port))
    closers.push(() => child.stop())
    const { apiKey, apiSecret } = embeddedKeys('a secret of this test')
    const rooms = new RoomServiceClient(url.replace('ws', 'http'), apiKey, apiSecret)
    await rooms.createRoom({ name: 'before' })
    const before = child.pid
    process.kill(before, 'SIGKILL')
    await until(() => told.includes('LiveKit is back.'), 'LiveKit is back', 20_000)
    expect(child.pid).not.toBe(before)
    expect(await rooms.listRooms()).toEqual([])
    expect(told[0]).toContain('LiveKit exited (SIGKILL)')
  })

  it('does not mistake another server on its port for itself', async () => {
    const port = await freePort(13_000, '127.0.0.1', true)
    const { child } = await startLiveKit(options(port))
    closers.push(() => child.stop())
    await expect(startLiveKit(options(port, 'the secret of another'))).rejects.toThrow(/exited during start/)
  })

  it('reserves its address and keys before it starts', async () => {
    const config = readConfig({ PARLEY_HOME: folder, PARLEY_SECRET: 'a secret of this test' })
    const rooms = await planRooms({ config, logFile: join(folder, 'livekit.log'), report() {}, note() {} })
    closers.push(() => rooms!.stop())
    const { LIVEKIT_URL, LIVEKIT_API_KEY, LIVEKIT_API_SECRET } = rooms!.env as Record<string, string>
    const client = new RoomServiceClient(LIVEKIT_URL!.replace('ws', 'http'), LIVEKIT_API_KEY, LIVEKIT_API_SECRET)
    await expect(client.listRooms()).rejects.toThrow()
    expect(await rooms!.open({ control: 'http://127.0.0.1:1', talk: '' })).toBe(true)
    expect(await client.listRooms()).toEqual([])
  })

  it('reports that LiveKit is unavailable without a binary or build tools', async () => {
    const PATH = process.env['PATH']
    process.env['PATH'] = folder
    try {
      const config = readConfig({ PARLEY_HOME: folder, PARLEY_CACHE: folder })
      const lines: string[] = []
      const report = (text: string) => void lines.push(text)
      const rooms = await planRooms({ config, logFile: join(folder, 'livekit.log'), report, note() {} })
      closers.push(() => rooms!.stop())
      expect(await rooms!.open({ control: 'http://127.0.0.1:1', talk: '' })).toBe(false)
      await until(() => lines.some(line => line.startsWith('LiveKit is unavailable (')), 'the word that there is none')
      expect(lines.at(-1)).toMatch(/Browser sessions are unavailable; SIP calls work\.$/)
    } finally {
      process.env['PATH'] = PATH
    }
  })

  it.each([{ LIVEKIT_URL: 'wss://livekit.example' }, { LIVEKIT_EMBEDDED: 'off' }])('rejects %j', async settings => {
    const keys = { LIVEKIT_API_KEY: 'key', LIVEKIT_API_SECRET: 'secret' }
    const config = readConfig({ PARLEY_HOME: folder, ...keys, ...settings })
    expect(await planRooms({ config, logFile: join(folder, 'livekit.log'), report() {}, note() {} })).toBe(null)
  })
})

describe.skipIf(livekitBinary === null)('two clients', () => {
  let receiver: Receiver
  let livekit: TestLiveKit
  beforeAll(async () => {
    receiver = await createReceiver()
    livekit = await startTestLiveKit({ webhookUrl: `${receiver.url}/livekit/webhook` })
  })
  afterAll(async () => {
    await livekit?.stop()
    await receiver?.close()
  })
  const join_ = async (room: string, identity: string) => joinRoom(livekit.url, await livekit.token({ room, identity }))

  it('exchange audio and data, and the signed webhook reports joins', async () => {
    const [anna, boris] = await Promise.all([join_('first', 'anna'), join_('first', 'boris')])
    await anna.wait(() => anna.heard.length > 0 && boris.heard.length > 0, 'both to hear silence')
    await anna.say(tone(400))
    await boris.wait(() => boris.heard.filter(({ samples }) => rms(samples) > 1000).length >= 15, 'the tone')
    await anna.room.localParticipant!.sendText('hello', {
      topic: 'lk.transcription',
      attributes: { 'lk.segment_id': 'one', 'lk.transcription_final': 'true' },
    })
    await boris.wait(() => boris.texts[0]?.text === 'hello', 'the text')
    expect(boris.texts[0]).toMatchObject({ from: 'anna', segmentId: 'one', final: true })
    await anna.room.localParticipant!.setAttributes({ 'lk.agent.state': 'thinking' })
    await boris.wait(() => boris.attributes.length > 0, 'the state')
    expect(boris.attributes[0]).toMatchObject({ from: 'anna', changed: { 'lk.agent.state': 'thinking' } })
    await anna.leave()
    await boris.leave()

    const verify = new WebhookReceiver(livekit.apiKey, livekit.apiSecret)
    await until(() => receiver.received.some(({ body }) => body.includes('participant_left')), 'the webhooks')
    const events = await Promise.all(
      receiver.received.map(({ body, headers }) => verify.receive(body, headers.authorization)),
    )
    expect(
      events.filter(({ event }) => event === 'participant_joined').map(({ participant }) => participant!.identity),
    ).toEqual(expect.arrayContaining(['anna', 'boris']))
    const { body, headers } = receiver.received[0]!
    const stranger = new WebhookReceiver(livekit.apiKey, 'another secret that is as long as it has to be')
    await expect(stranger.receive(body, headers.authorization)).rejects.toThrow()
    await expect(verify.receive(`${body} `, headers.authorization)).rejects.toThrow()
  })

  it('are told why they are disconnected', async () => {
    const anna = await join_('second', 'anna')
    const rooms = new RoomServiceClient(livekit.url.replace('ws', 'http'), livekit.apiKey, livekit.apiSecret)
    await rooms.removeParticipant('second', 'anna')
    expect(await anna.ended()).toBeGreaterThan(0)
  })

  it('reconnect on the same port after a failure', async () => {
    await livekit.kill()
    await expect(join_('third', 'anna')).rejects.toThrow()
    await livekit.restart()
    const anna = await join_('third', 'anna')
    await anna.leave()
  })
})

/** Local addresses of the sockets that a process listens on, as the kernel writes them. */
function socketsOf(pid: number): string[] {
  const inodes = new Set(
    readdirSync(`/proc/${pid}/fd`).map(fd => /socket:\[(\d+)\]/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1]),
  )
  return ['tcp', 'tcp6', 'udp', 'udp6'].flatMap(kind =>
    readFileSync(`/proc/net/${kind}`, 'utf8')
      .split('\n')
      .slice(1)
      .map(line => line.trim().split(/\s+/))
      // 0A: a TCP socket that listens; 07: a UDP socket that is bound.
      .filter(fields => inodes.has(fields[9]) && ['0A', '07'].includes(fields[3]!))
      .map(fields => fields[1]!),
  )
}
