/** Linphone, controlled by its command line. */
import { expect } from 'vitest'
import { callPlan } from '../sip/trunk/bench.ts'
import { lacks } from '../support/needs.ts'
import { until } from '../support/world.ts'
import { interop } from './interop.ts'
import { answered, Line, legOf, SOFTPHONE } from './line.ts'
import { type LinphonePhone, linphonePhone } from './linphone.ts'
import { phoneCells, talk } from './phone.ts'

let line: Line
let phone: LinphonePhone

/** Registers as a softphone, calls by the name that it has proven, and is called where it registered. */
async function digest(): Promise<void> {
  line.bench.setTrunks()
  const phone = await linphonePhone(line)
  const { username, password } = SOFTPHONE
  phone.say(`register ${line.uri('udp', username)} sip:127.0.0.1:${line.ports.udp} ${password}`)
  await until(() => line.book.isRegistered(), 'its registration')
  await phone.dial()
  const offer = await line.offer()
  expect(offer).toMatchObject({ softphoneId: line.book.plan.id, trunkId: null })
  await talk(phone, await answered(offer))
  await phone.hangup()
  await phone.over()
  const plan = callPlan(null, { softphone_id: line.book.plan.id })
  const result = line.bench.edge.dialer.dial({ plan, signal: new AbortController().signal, onRinging() {} })
  await phone.rings()
  await phone.accept()
  const leg = legOf(await result)
  await talk(phone, leg)
  await leg.hangup('agent_hangup')
  await phone.over()
  phone.say('quit')
}

async function early(): Promise<void> {
  const phone = await linphonePhone(line, true)
  const { result, rings } = line.dial(phone.trunk)
  await phone.rings()
  await until(() => rings.length > 0, 'news that it rings')
  await until(() => line.sessions.at(-1)!.lastReceivedMs() !== null, 'sound before the answer')
  await phone.accept()
  const leg = legOf(await result)
  await talk(phone, leg)
  expect(rings).toHaveLength(1)
  await leg.hangup('agent_hangup')
  await phone.over()
  phone.say('quit')
}

const cells = phoneCells({
  line: () => line,
  phone: () => phone,
  back: () => line.uri('udp'),
  judge: leg => expect(leg.stats()).toMatchObject({ codec: 'PCMU' }),
})

interop('linphone', {
  lacks: lacks('linphonec', 'openssl') ? 'linphone-cli or openssl is not there' : null,
  async open() {
    line = await Line.open()
    phone = await linphonePhone(line)
  },
  close: () => line?.close(),
  cells: { ...cells, digest, 'early media': early },
})
