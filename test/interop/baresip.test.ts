/** baresip, with each of its transports, codecs and kinds of encryption. */
import { expect } from 'vitest'
import type { CodecName } from '../../media/contract/plan.ts'
import { callPlan } from '../sip/trunk/bench.ts'
import { lacks } from '../support/needs.ts'
import { until } from '../support/world.ts'
import { type BaresipOptions, type BaresipPhone, baresipPhone } from './baresip.ts'
import { interop } from './interop.ts'
import { answered, Line, legOf, SOFTPHONE } from './line.ts'
import type { PeerName } from './list.ts'
import { phoneCells, talk } from './phone.ts'

function row(peer: Extract<PeerName, `baresip-${string}`>, options: BaresipOptions): void {
  let line: Line
  let phone: BaresipPhone
  const codec: CodecName = options.codec ?? 'PCMU'
  interop(peer, {
    lacks: lacks('baresip', 'openssl') ? 'baresip or openssl is not there' : null,
    async open() {
      line = await Line.open()
      phone = await baresipPhone(line, options)
    },
    close: () => line?.close(),
    cells: {
      ...phoneCells({
        line: () => line,
        phone: () => phone,
        back: () => line.uri(options.transport ?? 'udp'),
        judge: leg => expect(leg.stats()).toMatchObject({ codec }),
      }),
      digest: () => digest(line, options),
    },
  })
}

/** Registers as a softphone, calls by the name that it has proven, and is called where it registered. */
async function digest(line: Line, options: BaresipOptions): Promise<void> {
  const { codec = 'PCMU' } = options
  // Softphones are offered encryption where its keys are not there for all to read.
  const transport = options.trunk?.srtp === undefined ? (options.transport ?? 'udp') : 'tls'
  const account = `;auth_user=${SOFTPHONE.username};auth_pass=${SOFTPHONE.password};regint=60`
  const extras = { ...options.extras, account: `${options.extras?.account ?? ''}${account}` }
  const phone = await baresipPhone(line, {
    ...options,
    transport,
    aor: line.uri(transport, SOFTPHONE.username),
    extras,
  })
  // Not a trunk: the caller is identified by user name only.
  line.bench.setTrunks()
  await until(() => line.book.isRegistered(), 'its registration')
  await phone.dial()
  const offer = await line.offer()
  expect(offer).toMatchObject({ softphoneId: line.book.plan.id, trunkId: null })
  await talk(phone, await answered(offer))
  await phone.hangup()
  const abort = new AbortController()
  const plan = callPlan(null, { softphone_id: line.book.plan.id })
  const result = line.bench.edge.dialer.dial({ plan, signal: abort.signal, onRinging() {} })
  await phone.rings()
  await phone.accept()
  const leg = legOf(await result)
  await talk(phone, leg)
  if (codec !== 'PCMU') expect(leg.stats().codec).toBe(codec)
  await leg.hangup('agent_hangup')
  await phone.over()
}

row('baresip-udp', {})
row('baresip-tcp', { transport: 'tcp' })
row('baresip-tls', { transport: 'tls' })
row('baresip-sdes', {
  trunk: { srtp: 'required' },
  extras: { config: ['module srtp.so'], account: ';mediaenc=srtp-mand' },
})
row('baresip-dtls', {
  trunk: { srtp: 'required' },
  extras: { config: ['module dtls_srtp.so'], account: ';mediaenc=dtls_srtp' },
})
row('baresip-g722', { codec: 'G722' })
row('baresip-opus', { codec: 'opus' })
