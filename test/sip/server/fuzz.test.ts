/** Messages that are almost right, thrown at a live server: none may trip it. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { Caller } from '../peer.ts'
import { Rig } from '../rig.ts'

const METHODS = ['INVITE', 'ACK', 'BYE', 'CANCEL', 'OPTIONS', 'REGISTER', 'PRACK', 'UPDATE', 'REFER', 'NOTIFY', 'FANCY']

it('lines dropped, doubled, swapped and damaged', async () => {
  const rig = await Rig.start({ timers: { t1: 5, t2: 20, t4: 20 } })
  const app = await rig.app()
  app.invite((_req, res) => res.send(486))
  app.use('options', (_req, res) => res.send(200))
  const peer = await rig.udpPeer()
  const uri = `sip:x@127.0.0.1:${rig.udpPort}`
  const edit = fc.tuple(fc.constantFrom('drop', 'double', 'swap', 'damage'), fc.nat(9), fc.nat(60), fc.nat(255))
  const cases = fc.sample(fc.tuple(fc.constantFrom(...METHODS), fc.array(edit, { maxLength: 4 })), 1500)
  let sent = 0
  for (const [method, edits] of cases) {
    const lines = new Caller(peer, uri).head(method, { cseq: 1 })
    for (const [how, at, column, byte] of edits) {
      const line = lines[at]
      if (line === undefined) continue
      if (how === 'drop') lines.splice(at, 1)
      else if (how === 'double') lines.splice(at, 0, line)
      else if (how === 'swap') lines.splice(0, 0, ...lines.splice(at, 1))
      else lines[at] = line.slice(0, column) + String.fromCharCode(byte) + line.slice(column + 1)
    }
    peer.raw(Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'))
    sent += 1
    // A call in between shows that it still lives, and lets the socket's queue drain.
    if (sent % 50 === 0) {
      const alive = new Caller(peer, uri)
      alive.request('OPTIONS')
      await peer.next((m): m is never =>
        m.headers.some(([name, value]) => name === 'Call-ID' && value === alive.callId),
      )
    }
  }
  expect(rig.server.counters.faults).toBe(0)
  expect(rig.server.counters.malformed).toBeGreaterThan(100)
  await rig.close()
})
