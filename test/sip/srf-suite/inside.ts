/**
 * Runs inside a network namespace of its own (see srf-suite.test.ts): gives the parties of drachtio-srf's testbed their
 * addresses, starts them and two servers, and runs the tests named on the command line.
 *
 *   inside.ts FOLDER SCRATCH TEST...     results go to SCRATCH/TEST.tap, and SCRATCH/TEST.exit
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream, openSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const [folder = '', scratch = '', ...tests] = process.argv.slice(2)
const TEST_LIMIT_MS = 120_000
const children: ChildProcess[] = []

interface Party {
  name: string
  address: string
  scenario: string | null
}

/** Names, addresses and scenarios as the package's compose file has them. */
function parties(): Party[] {
  const yaml = readFileSync(join(folder, 'package', 'test', 'docker-compose-testbed.yaml'), 'utf8')
  return yaml
    .split(/\n {2}(?=[a-z0-9-]+:\n)/)
    .slice(1)
    .flatMap(section => {
      const name = /^([a-z0-9-]+):/.exec(section)?.[1]
      const address = /ipv4_address: (\S+)/.exec(section)?.[1]
      const scenario = /sipp -sf \/tmp\/(\S+)/.exec(section)?.[1] ?? null
      return name && address ? [{ name, address, scenario }] : []
    })
}

function mask(file: string, text: string): void {
  const copy = join(scratch, file.replaceAll('/', '_'))
  writeFileSync(copy, text)
  execFileSync('mount', ['--bind', copy, file])
}

function layNetwork(list: readonly Party[]): void {
  execFileSync('ip', ['link', 'set', 'lo', 'up'])
  for (const address of [...list.map(party => party.address), '172.29.0.30', '172.29.0.200']) {
    execFileSync('ip', ['addr', 'add', `${address}/32`, 'dev', 'lo'])
  }
  const names = list.map(({ name, address }) => `${address} ${name}`)
  mask('/etc/hosts', `127.0.0.1 localhost\n172.29.0.30 sipp-uas-b-teardown\n${names.join('\n')}\n`)
  mask('/etc/resolv.conf', 'nameserver 127.0.0.1\n')
}

function startParty({ name, address, scenario }: Party): void {
  if (scenario === null) return
  const log = openSync(join(scratch, `${name}.log`), 'w')
  const args = ['-sf', join(folder, 'package', 'test', 'scenarios', scenario), '-i', address, '-p', '5060', '-nostdin']
  children.push(spawn('sipp', args, { cwd: scratch, stdio: ['ignore', log, 'ignore'] }))
}

async function startServer(admin: number, address: string): Promise<void> {
  const main = fileURLToPath(new URL('../../../sip/server/main.ts', import.meta.url))
  const args = [main, '--admin', `127.0.0.1:${admin}`, '--secret', 'cymru', '--listen', `udp:${address}:5060`]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  children.push(child)
  await Promise.race([
    once(child.stdout, 'data'),
    once(child, 'exit').then(() => Promise.reject(new Error('a server did not start'))),
  ])
}

async function runTest(name: string): Promise<void> {
  const entry = join(folder, 'package', `run-${name}.js`)
  writeFileSync(entry, `require('./test/docker_start');require('./test/${name}');require('./test/docker_stop');\n`)
  const child = spawn(process.execPath, [entry], {
    cwd: join(folder, 'package'),
    env: {
      ...process.env,
      NODE_ENV: 'test',
      SRF_SUITE_SCRATCH: scratch,
      PATH: `${join(folder, 'bin')}:${process.env['PATH']}`,
    },
    timeout: TEST_LIMIT_MS,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const out = createWriteStream(join(scratch, `${name}.tap`))
  child.stdout.pipe(out, { end: false })
  child.stderr.pipe(out, { end: false })
  const [code] = await once(child, 'close')
  writeFileSync(join(scratch, `${name}.exit`), String(code))
  out.end()
  await once(out, 'finish')
}

try {
  const list = parties()
  layNetwork(list)
  for (const party of list) startParty(party)
  await Promise.all([startServer(9061, '172.29.0.10'), startServer(9062, '172.29.0.19')])
  for (const test of tests) await runTest(test)
} finally {
  for (const child of children) child.kill('SIGKILL')
}
