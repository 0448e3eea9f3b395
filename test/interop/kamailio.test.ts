/** A carrier made of Kamailio and rtpengine, with baresip as the called party behind it. */
import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import { onPath } from '../../infra/setup/prepare.ts'
import type { TrunkPlan } from '../../media/contract/plan.ts'
import { trunkPlan } from '../sip/trunk/bench.ts'
import { until } from '../support/world.ts'
import { type BaresipPhone, baresipPhone } from './baresip.ts'
import { interop } from './interop.ts'
import { type Carrier, PASSWORD, REALM, startCarrier } from './kamailio.ts'
import { Line, legOf, THEIR_NUMBER } from './line.ts'
import { linphonePhone } from './linphone.ts'
import { phoneCells, talk } from './phone.ts'

/** Our user name there: calls for our number come to it. */
const US = 'parley'
const EARLY_NUMBER = '+12025550188'

let line: Line
let carrier: Carrier
let phone: BaresipPhone

/** One trunk for all cells, so that it stays registered. */
const id = randomUUID()
const trunk = (): Partial<TrunkPlan> & { port: number } => ({
  id,
  port: carrier.port,
  mode: 'register',
  username: US,
  password: PASSWORD,
  realm: REALM,
  codecs: ['PCMU', 'PCMA'],
})

async function open(): Promise<void> {
  line = await Line.open()
  carrier = await startCarrier(line)
  phone = await baresipPhone(line, {
    aor: `sip:${THEIR_NUMBER}@127.0.0.1:${carrier.port}`,
    extras: { account: `;auth_user=${THEIR_NUMBER};auth_pass=${PASSWORD};regint=60` },
    calls: `sip:${US}@127.0.0.1:${carrier.port}`,
    trunk: trunk(),
  })
  await until(() => phone.output().includes('200 OK'), 'its registration')
  await registered()
}

async function registered(): Promise<void> {
  const { bench } = line
  bench.setTrunks(trunkPlan(carrier, trunk()))
  await until(() => bench.statuses.at(-1)?.registration === 'registered', 'our registration')
}

/** Registers there, and again with a wrong password, which is rejected. */
async function digest(): Promise<void> {
  const { bench } = line
  await registered()
  bench.setTrunks(trunkPlan(carrier, { ...trunk(), password: 'wrong' }))
  await until(() => bench.statuses.at(-1)?.registration === 'failed', 'it to be refused')
  const { result } = line.dial({ ...trunk(), password: 'wrong' })
  expect(await result).toMatchObject({ failure: { reason: 'auth_failed', sipCode: 407 } })
  await registered()
}

/** Tests early media with Linphone behind Kamailio, because baresip has none. */
async function early(): Promise<void> {
  await registered()
  const phone = await linphonePhone(line, true)
  const at = `127.0.0.1:${carrier.port}`
  phone.say(`register sip:${EARLY_NUMBER}@${at} sip:${at} ${PASSWORD}`)
  // Kamailio reports it on request only.
  await until(() => {
    phone.say('status register')
    return /registered, identity/.test(phone.output())
  }, 'Linphone to be registered')
  const { result, rings } = line.dial(trunk(), { to: EARLY_NUMBER })
  await phone.rings()
  await until(() => rings.length > 0, 'news that it rings')
  await until(() => line.sessions.at(-1)!.lastReceivedMs() !== null, 'sound before the answer')
  expect(await carrier.relays()).toBe(true)
  await phone.accept()
  const leg = legOf(await result)
  await talk(phone, leg)
  expect(rings).toHaveLength(1)
  await leg.hangup('agent_hangup')
  await phone.over()
  phone.say('quit')
}

const LACKING = { kamailio: 'kamailio', openssl: 'openssl', rtpengine: 'rtpengine-daemon', linphonec: 'linphone-cli' }

interop('kamailio', {
  lacks:
    Object.entries(LACKING).flatMap(([name, lacking]) => (onPath(name) ? [] : `${lacking} is not there`))[0] ?? null,
  open,
  close: () => line?.close(),
  cells: {
    ...phoneCells({
      line: () => line,
      phone: () => phone,
      back: () => `sip:${US}@127.0.0.1:${carrier.port}`,
      judge: async () => expect(await carrier.relays()).toBe(true),
    }),
    digest,
    'early media': early,
  },
})
