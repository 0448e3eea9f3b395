/** Kamailio as the proxy between us and a peer: an independent stack on UDP, TCP and TLS, over both IP versions. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, inject, vi } from 'vitest'
import { selfSigned } from '../../../sip/server/self-signed.ts'
import { headerOf, listOf } from '../../../sip/text/message.ts'
import { needs } from '../../support/needs.ts'
import { SDP } from '../peer.ts'
import { type App, Rig, type SrfMessage, type SrfRequest } from '../rig.ts'
import { Far } from './far.ts'
import { testPair } from './pair.ts'

const { describe, it } = needs('kamailio', 'openssl')

const HOSTS = ['127.0.0.1', '[::1]'] as const
const TRANSPORTS = ['udp', 'tcp', 'tls'] as const

let folder = ''
let kamailio: ChildProcess
let rig: Rig
let app: App
let port = 0

/** Returns a port that is currently free, at least on TCP; Kamailio uses it and the next one. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise(resolve => server.once('listening', resolve))
  const { port: free } = server.address() as { port: number }
  await new Promise(resolve => server.close(resolve))
  return free > 65_000 ? freePort() : free
}

function config(): string {
  const listens = HOSTS.flatMap(host =>
    TRANSPORTS.map(kind => `listen=${kind}:${host}:${port + (kind === 'tls' ? 1 : 0)}`),
  )
  const modules = ['tls', 'kex', 'tm', 'sl', 'rr', 'pv', 'maxfwd', 'siputils', 'textops']
  return `
debug=1
log_stderror=yes
children=1
tcp_children=1
enable_tls=yes
auto_aliases=no
${listens.join('\n')}
${modules.map(name => `loadmodule "${name}.so"`).join('\n')}
modparam("tls", "config", "${folder}/tls.cfg")
request_route {
  if (!mf_process_maxfwd_header("10")) { sl_send_reply("483", "Too Many Hops"); exit; }
  if (is_method("OPTIONS")) { sl_send_reply("200", "Kamailio"); exit; }
  if (is_method("CANCEL")) { if (t_check_trans()) t_relay(); exit; }
  if (has_totag()) { if (loose_route()) t_relay(); exit; }
  record_route();
  t_relay();
}
`
}

/** Written as a file, because Kamailio 5.6 does not load the key when it is set by modparam. */
const tlsConfig = (): string => `[server:default]
method = TLSv1.2+
verify_certificate = no
require_certificate = no
private_key = ${folder}/key.pem
certificate = ${folder}/cert.pem
[client:default]
verify_certificate = no
require_certificate = no
`

beforeAll(async () => {
  const there = spawnSync('kamailio', ['-v'])
  if (there.error)
    throw new Error('this test needs kamailio with its TLS module (Debian packages kamailio, kamailio-tls-modules)')
  folder = mkdtempSync(join(tmpdir(), 'kamailio-'))
  const pair = testPair('IP:127.0.0.1, IP:::1')
  writeFileSync(join(folder, 'cert.pem'), pair.cert)
  writeFileSync(join(folder, 'key.pem'), pair.key)
  writeFileSync(join(folder, 'tls.cfg'), tlsConfig())
  port = await freePort()
  writeFileSync(join(folder, 'kamailio.cfg'), config())
  kamailio = spawn(
    'kamailio',
    ['-DD', '-E', '-f', join(folder, 'kamailio.cfg'), '-w', folder, '-Y', folder, '-m', '64', '-M', '8'],
    {
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  )
  let log = ''
  kamailio.stderr?.on('data', data => {
    log += data
  })
  kamailio.once('exit', code => {
    if (code !== 0 && code !== null) console.error(log.slice(-2000))
  })
  const listen = HOSTS.flatMap(host =>
    TRANSPORTS.map(protocol => ({ protocol, host: host.replace(/[[\]]/g, ''), port: 0 })),
  )
  rig = await Rig.start({ listen, tls: { ...selfSigned(Date.now()), ca: [pair.cert] } })
  app = await rig.app()
  await untilItAnswers()
}, 180_000)

afterAll(async () => {
  kamailio?.kill('SIGTERM')
  await rig?.close()
  if (folder !== '') rmSync(folder, { recursive: true, force: true })
})

const at = (host: string, transport: string): string =>
  `sip:${host}:${port + (transport === 'tls' ? 1 : 0)};transport=${transport}`

async function options(uri: string): Promise<SrfMessage> {
  const req: SrfRequest = await app.request(uri, { method: 'OPTIONS' })
  return new Promise(resolve => req.on('response', resolve as never))
}

async function untilItAnswers(): Promise<void> {
  for (const host of HOSTS) {
    for (const transport of TRANSPORTS) {
      const answered = async (): Promise<void> => {
        const response = await options(at(host, transport))
        expect(response, `${transport} ${host}: ${response.get('Warning')}`).toMatchObject({ status: 200 })
      }
      await vi.waitFor(answered, { timeout: 180_000, interval: 200 })
    }
  }
}

const ALL = HOSTS.flatMap(host => TRANSPORTS.map(transport => [transport, host] as const))
const CASES = inject('full') ? ALL : ALL.slice(0, 1)

describe.each(CASES)('over %s at %s', (transport, host) => {
  it('a call through it, ended by us', async () => {
    const bob = await Far.udp(host.replace(/[[\]]/g, ''))
    const calling = app.createUAC(`sip:bob@${host}:${bob.port}`, { localSdp: SDP, proxy: at(host, transport) })
    const invite = await bob.next('INVITE')
    const vias = listOf(invite.request, 'Via')
    expect(vias).toHaveLength(2)
    expect(vias[1]).toContain(`SIP/2.0/${transport.toUpperCase()} ${host}:`)
    const contact = [`Contact: <sip:bob@${host}:${bob.port}>`, 'Content-Type: application/sdp']
    invite.answer('180 Ringing')
    invite.answer('200 OK', contact, SDP)
    const dialog = await calling
    expect(headerOf((await bob.next('ACK')).request, 'CSeq')).toContain('ACK')
    const gone = dialog.destroy()
    const bye = await bob.next('BYE')
    bye.answer('200 OK')
    expect((await gone).status ?? 200).toBe(200)
    bob.close()
  })

  it('a call through it, refused there', async () => {
    const bob = await Far.udp(host.replace(/[[\]]/g, ''))
    const calling = app.createUAC(`sip:bob@${host}:${bob.port}`, { localSdp: SDP, proxy: at(host, transport) })
    ;(await bob.next('INVITE')).answer('486 Busy Here')
    await expect(calling).rejects.toMatchObject({ status: 486 })
    bob.close()
  })
})
