/** Strangers who register constantly, and password guessers: phones, calls and new callers are not affected. */
import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { afterEach, beforeEach, expect, inject, it } from 'vitest'
import { busKeys } from '../../../media/bus/keys.ts'
import { createSoftphoneBook, followSoftphones } from '../../../media/bus/softphone-book.ts'
import { createSealer } from '../../../media/contract/seal.ts'
import { until } from '../../support/world.ts'
import { Caller, type Peer, reply } from '../peer.ts'
import { audioPort, Bench, clock, Ear, FarMedia, MemoryLog, trunkPlan } from './bench.ts'
import { Phone, planOf, USER } from './phone.ts'

const RATE = 200
const SECONDS = inject('full') ? 20 : 2
const STRANGERS = 8
/** Registrations and calls that have to get through meanwhile. */
const LEAST = 5

let bench: Bench
let far: FarMedia
const closers: (() => unknown)[] = []

beforeEach(async () => {
  const redis = new Redis(inject('redisUrl'), { maxRetriesPerRequest: null })
  const parts = { redis, keys: busKeys(`flood-${randomUUID()}`), sealer: createSealer('secret') }
  const book = createSoftphoneBook(parts)
  const directory = await followSoftphones({ ...parts, clock, log: new MemoryLog() })
  bench = await Bench.start({}, { softphones: { directory, secret: 'secret' } })
  far = await FarMedia.open()
  closers.push(
    () => far.close(),
    () => bench.close(),
    () => directory.stop(),
    () => redis.disconnect(),
  )
  await book.put(planOf(USER))
  await until(() => directory.any(), 'the engine to know')
})
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})

/** One that is challenged anew all the time, and one that knows a name and guesses; in equal parts. */
class Stranger {
  sent = 0
  readonly #nobody: Phone
  readonly #guesser: Phone
  readonly #peer: Peer
  #proof = ''

  constructor(peer: Peer, number: number) {
    this.#peer = peer
    this.#nobody = new Phone(peer, `phone-stranger${number}`)
    this.#guesser = new Phone(peer)
  }

  async learn(): Promise<void> {
    this.#guesser.ask('REGISTER', [this.#guesser.contact()])
    this.#proof = this.#guesser.proof(await this.#peer.response(401), { password: 'wrong' })
  }

  register(): void {
    this.sent += 1
    if (this.sent % 2 === 0) this.#nobody.ask('REGISTER', [this.#nobody.contact()])
    else this.#guesser.ask('REGISTER', [this.#guesser.contact(), this.#proof])
  }

  /** Number of final responses by status. */
  answers(): Record<number, number> {
    const counts: Record<number, number> = {}
    for (const message of this.#peer.received) {
      if (message.kind === 'response' && message.status >= 200)
        counts[message.status] = (counts[message.status] ?? 0) + 1
    }
    return counts
  }
}

/** Sends at `RATE`, whatever the delay of the event loop, for `SECONDS` and until `enough`. Resolves with the count. */
function flood(strangers: readonly Stranger[], enough: () => boolean): Promise<number> {
  const startedMs = performance.now()
  let sent = 0
  return new Promise(resolve => {
    const timer = setInterval(() => {
      const due = Math.floor(((performance.now() - startedMs) / 1000) * RATE)
      for (; sent < due; sent++) strangers[sent % strangers.length]!.register()
      if (sent < RATE * SECONDS || !enough()) return
      clearInterval(timer)
      resolve(sent)
    }, 5)
  })
}

async function timed(act: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now()
  await act()
  return performance.now() - startedMs
}

/** A call over a trunk, from INVITE to the BYE that we send. */
async function call(peer: Peer): Promise<void> {
  const caller = new Caller(peer, `sip:+12025550100@127.0.0.1:${bench.rig.udpPort}`)
  caller.invite(far.sdp())
  const leg = await (await bench.offer()).answer()
  await caller.answered()
  caller.ack()
  const over = leg!.hangup('agent_hangup')
  reply(peer, await peer.request('BYE'), '200 OK')
  await over
}

const summary = (ms: readonly number[]): string => {
  const sorted = [...ms].sort((a, b) => a - b)
  return `${sorted.length} times, median ${sorted[Math.floor(sorted.length / 2)]!.toFixed(1)} ms, most ${sorted.at(-1)!.toFixed(1)} ms`
}

it(`${RATE} REGISTERs a second with wrong passwords and of strangers: who is known registers and calls, and a call goes on`, async () => {
  const trunkPeer = await bench.rig.udpPeer()
  bench.setTrunks(trunkPlan(trunkPeer))
  const strangers = await Promise.all(
    Array.from({ length: STRANGERS }, async (_, n) => new Stranger(await bench.rig.udpPeer(), n)),
  )
  for (const stranger of strangers) await stranger.learn()
  const telephone = new Phone(await bench.rig.udpPeer())
  expect((await telephone.register()).status).toBe(200)
  // A call that is there all the while.
  const caller = new Caller(trunkPeer, `sip:+12025550100@127.0.0.1:${bench.rig.udpPort}`)
  caller.invite(far.sdp())
  const live = (await (await bench.offer()).answer())!
  const port = audioPort((await caller.answered()).body)
  caller.ack()
  const ear = new Ear()
  live.attach(ear)
  let said = 0
  const talk = setInterval(() => {
    far.speak(port, 1)
    said += 1
  }, 20)
  closers.unshift(() => clearInterval(talk))

  let flooding = true
  const registered: number[] = []
  const called: number[] = []
  const before = process.cpuUsage()
  let sent = 0
  const flooded = flood(strangers, () => registered.length >= LEAST && called.length >= LEAST).then(all => {
    flooding = false
    sent = all
  })
  const quiet = async (work: number[], act: () => Promise<unknown>): Promise<void> => {
    while (flooding) {
      work.push(await timed(act))
      await new Promise(resolve => setTimeout(resolve, 100))
    }
  }
  const register = async (): Promise<void> => expect((await telephone.register()).status).toBe(200)
  const callsPeer = await bench.rig.udpPeer()
  await Promise.all([flooded, quiet(registered, register), quiet(called, () => call(callsPeer))])

  const used = process.cpuUsage(before)
  const share = Math.round((used.user + used.system) / 1e4 / (sent / RATE))

  const counts: Record<number, number> = {}
  const tally = (): number => {
    for (const status of Object.keys(counts)) delete counts[Number(status)]
    for (const stranger of strangers) {
      for (const [status, count] of Object.entries(stranger.answers())) {
        counts[Number(status)] = (counts[Number(status)] ?? 0) + count
      }
    }
    return Object.values(counts).reduce((sum, count) => sum + count, 0)
  }
  // Each gets a response: none is accepted, and none needs a retransmission.
  await until(() => tally() >= sent, 'the last answers')
  expect(Object.keys(counts).every(status => ['401', '403', '503'].includes(status))).toBe(true)
  // The audio sent meanwhile has arrived, except for at most one jitter buffer.
  await until(() => ear.frames >= said - 20, 'the sound of the call')
  expect(said).toBeGreaterThan(20)
  expect(bench.rig.server.stats()).toMatchObject({ faults: 0, dialogs: 1 })
  const over = live.hangup('agent_hangup')
  reply(trunkPeer, await trunkPeer.request('BYE'), '200 OK')
  await over
  if (inject('full')) {
    // CPU share of attackers, server, engine and callers together: all run in this process.
    console.log(
      `CPU ${share} %; strangers: ${JSON.stringify(counts)}; REGISTER: ${summary(registered)}; call: ${summary(called)}`,
    )
  }
}, 180_000)
