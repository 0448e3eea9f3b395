import { type ChildProcess, spawn } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { mkdtemp, rename, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, expect, it } from 'vitest'
import { headerOf } from '../../../sip/text/message.ts'
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

async function ready(run: Run): Promise<{ admin: string; listen: string[] }> {
  while (!run.output.out.includes('\n')) await once(run.child, 'progress')
  return JSON.parse(run.output.out)
}

const usual = ['--admin', '127.0.0.1:0', '--secret', 's', '--listen', 'udp:127.0.0.1:0']

it('says in one line where it listens, and ends on SIGTERM with status 0', async () => {
  const server = run(...usual, '--listen', 'tcp:127.0.0.1:0')
  const line = await ready(server)
  expect(line).toMatchObject({ ready: true })
  expect(line.admin).toMatch(/^127\.0\.0\.1:[1-9]\d*$/)
  expect(line.listen.map(at => at.replace(/\d+$/, 'N'))).toEqual(['udp/127.0.0.1:N', 'tcp/127.0.0.1:N'])
  server.child.kill('SIGTERM')
  expect(await once(server.child, 'exit')).toEqual([0, null])
  expect(server.output.out.trim().split('\n')).toHaveLength(1)
})

it('says in plain words that a port is taken', async () => {
  const holder = createSocket('udp4').bind(0, '127.0.0.1')
  await once(holder, 'listening')
  const { port } = holder.address()
  const server = run(...usual.slice(0, 4), '--listen', `udp:127.0.0.1:${port}`)
  expect((await once(server.child, 'close'))[0]).toBe(1)
  expect(server.output.err).toBe(`sip-server: port ${port} on 127.0.0.1 is taken by another program\n`)
  holder.close()
})

it.each([
  [['--secret', 's', '--listen', 'sctp:1.2.3.4:5'], '--listen takes udp:HOST:PORT or tcp:HOST:PORT'],
  [['--nonsense'], 'nonsense'],
  [usual.slice(0, 4), '--listen is missing'],
  [['--listen', 'udp:127.0.0.1:0', '--admin', 'x', '--secret', 's'], '--admin takes HOST:PORT'],
  [[...usual, '--allow', '1.2.3.4/99'], 'not an address or network: 1.2.3.4/99'],
  [[...usual, '--allow-file', '/nonexistent/file'], 'no such file: /nonexistent/file'],
])('%j is refused', async (args, words) => {
  const server = run(...args)
  expect((await once(server.child, 'close'))[0]).toBe(1)
  expect(server.output.err).toContain(words)
  expect(server.output.out).toBe('')
})

it('reloads its list of allowed sources when the file is replaced', async () => {
  const path = join(await mkdtemp(join(tmpdir(), 'allow-')), 'list')
  await writeFile(path, '192.0.2.1\n')
  const server = run(...usual, '--allow-file', path, '--log-level', 'info')
  const port = Number((await ready(server)).listen[0]?.split(':').at(-1))
  const peer = await Peer.udp(port)
  new Caller(peer, `sip:x@127.0.0.1:${port}`).request('OPTIONS')
  await writeFile(`${path}.new`, '127.0.0.0/8\n')
  await rename(`${path}.new`, path)
  while (!server.output.err.includes('allowed sources reloaded')) await once(server.child, 'progress')
  const allowed = new Caller(peer, `sip:x@127.0.0.1:${port}`)
  allowed.request('OPTIONS')
  expect(headerOf(await peer.response(503), 'Call-ID')).toBe(allowed.callId)
  peer.close()
})
