import { type ChildProcess, spawn } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { mkdtemp, rename, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, expect, it } from 'vitest'
import { headerOf } from '../../../sip/text/message.ts'
import { until } from '../../support/world.ts'
import { Caller, Peer } from '../peer.ts'

const main = fileURLToPath(new URL('../../../sip/server/main.ts', import.meta.url))
const children: ChildProcess[] = []

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
})

type Run = { readonly child: ChildProcess; readonly output: { out: string; err: string } }

function run(...args: string[]): Run {
  const child = spawn(process.execPath, [main, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  const output = { out: '', err: '' }
  child.stdout?.on('data', data => {
    output.out += data
    child.emit('progress')
  })
  child.stderr?.on('data', data => {
    output.err += data
    child.emit('progress')
  })
  children.push(child)
  return { child, output }
}

async function ready(run: Run): Promise<{ admin: string; listen: string[]; metrics: number | null }> {
  while (!run.output.out.includes('\n')) await once(run.child, 'progress')
  return JSON.parse(run.output.out)
}

const usual = ['--admin', '127.0.0.1:0', '--secret', 's', '--listen', 'udp:127.0.0.1:0']

it('prints where it listens, and exits with 0 on SIGTERM', async () => {
  const server = run(...usual, '--listen', 'tcp:127.0.0.1:0', '--listen', 'tls:[::1]:0')
  const line = await ready(server)
  expect(line).toMatchObject({ ready: true })
  expect(line.admin).toMatch(/^127\.0\.0\.1:[1-9]\d*$/)
  expect(line.listen.map(at => at.replace(/\d+$/, 'N'))).toEqual(['udp/127.0.0.1:N', 'tcp/127.0.0.1:N', 'tls/[::1]:N'])
  server.child.kill('SIGTERM')
  expect(await once(server.child, 'exit')).toEqual([0, null])
  expect(server.output.out.trim().split('\n')).toHaveLength(1)
})

it('reports a port in use', async () => {
  const holder = createSocket('udp4').bind(0, '127.0.0.1')
  await once(holder, 'listening')
  const { port } = holder.address()
  const server = run(...usual.slice(0, 4), '--listen', `udp:127.0.0.1:${port}`)
  expect((await once(server.child, 'close'))[0]).toBe(1)
  expect(server.output.err).toBe(`sip-server: port ${port} on 127.0.0.1 is in use by another program\n`)
  holder.close()
})

it.each([
  [['--secret', 's', '--listen', 'sctp:1.2.3.4:5'], '--listen must be udp:HOST:PORT, tcp:HOST:PORT or tls:HOST:PORT'],
  [['--nonsense'], 'nonsense'],
  [usual.slice(0, 4), '--listen is required'],
  [['--listen', 'udp:127.0.0.1:0', '--admin', 'x', '--secret', 's'], '--admin must be HOST:PORT'],
  [[...usual, '--listen', 'tls:0.0.0.0:0'], 'TLS on a public address needs --tls-cert and --tls-key'],
  [[...usual, '--listen', 'tls:127.0.0.1:0', '--tls-cert', '/x'], '--tls-cert and --tls-key must be given together'],
  [
    [...usual, '--listen', 'tls:127.0.0.1:0', '--tls-cert', '/dev/null', '--tls-key', '/dev/null'],
    'Cannot read the certificate or its key',
  ],
  [[...usual, '--private-hosts', 'some'], '--private-hosts must be allow, deny or a list of CIDRs, not "some"'],
  [[...usual, '--metrics', '9100'], '--metrics must be HOST:PORT'],
  [[...usual, '--external-ip', 'here'], '--external-ip must be an IP address, not "here"'],
  [[...usual, '--allow', '1.2.3.4/99'], 'Not an IP address or a CIDR network: 1.2.3.4/99'],
  [[...usual, '--allow-file', '/nonexistent/file'], 'no such file: /nonexistent/file'],
])('rejects %j', async (args, words) => {
  const server = run(...args)
  expect((await once(server.child, 'close'))[0]).toBe(1)
  expect(server.output.err).toContain(words)
  expect(server.output.out).toBe('')
})

it('counts dropped sources and unhandled requests', async () => {
  const server = run(...usual, '--metrics', '127.0.0.1:0', '--allow', '127.0.0.1')
  const { listen, metrics } = await ready(server)
  const port = Number(listen[0]?.split(':').at(-1))
  const counted = async () => {
    const page = await (await fetch(`http://127.0.0.1:${metrics}/metrics`)).text()
    return page.split('\n').filter(line => /^parley_sip_server_(?:dropped|unhandled|malformed)_total /.test(line))
  }
  expect(await counted()).toEqual([
    'parley_sip_server_dropped_total 0',
    'parley_sip_server_malformed_total 0',
    'parley_sip_server_unhandled_total 0',
  ])
  const peer = await Peer.udp(port)
  for (const method of ['SUBSCRIBE', 'MESSAGE']) {
    new Caller(peer, `sip:x@127.0.0.1:${port}`).request(method, ['Event: presence'])
    await peer.response(503, method)
  }
  // From the same machine, and from no source that may call.
  const stranger = createSocket('udp4').bind(0, '127.0.0.2')
  await once(stranger, 'listening')
  stranger.send('OPTIONS sip:x@127.0.0.1 SIP/2.0\r\n\r\n', port, '127.0.0.1')
  await until(async () => (await counted())[0]?.endsWith(' 1'), 'the stranger to be dropped')
  expect(await counted()).toEqual([
    'parley_sip_server_dropped_total 1',
    'parley_sip_server_malformed_total 0',
    'parley_sip_server_unhandled_total 2',
  ])
  stranger.close()
  peer.close()
})

it('reloads its list of allowed sources when the file is replaced', async () => {
  const path = join(await mkdtemp(join(tmpdir(), 'allow-')), 'list')
  await writeFile(path, '192.0.2.1\n')
  const server = run(...usual, '--allow-file', path, '--log-level', 'info', '--metrics', '127.0.0.1:0')
  const { listen, metrics } = await ready(server)
  const port = Number(listen[0]?.split(':').at(-1))
  const peer = await Peer.udp(port)
  new Caller(peer, `sip:x@127.0.0.1:${port}`).request('OPTIONS')
  const page = async () => (await fetch(`http://127.0.0.1:${metrics}/metrics`)).text()
  await until(async () => (await page()).includes('parley_sip_server_dropped_total 1'), 'the first to be dropped')
  await writeFile(`${path}.new`, '127.0.0.0/8\n')
  await rename(`${path}.new`, path)
  while (!server.output.err.includes('allowed sources reloaded')) await once(server.child, 'progress')
  const allowed = new Caller(peer, `sip:x@127.0.0.1:${port}`)
  allowed.request('OPTIONS')
  expect(headerOf(await peer.response(503), 'Call-ID')).toBe(allowed.callId)
  peer.close()
})
