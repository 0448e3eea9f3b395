/** Set-up, with a fake npm that only prints its arguments: the installed packages, and two concurrent set-ups. */
import { type ChildProcess, spawn } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { until } from '../support/world.ts'

const ours = join(import.meta.dirname, '../../infra')
let root: string
const started: ChildProcess[] = []

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'parley-setup-'))
  for (const folder of ['infra/setup', 'infra/bin', 'bin']) mkdirSync(join(root, folder), { recursive: true })
  for (const file of ['setup.mjs', 'setup/lock.mjs']) copyFileSync(join(ours, file), join(root, 'infra', file))
  writeFileSync(join(root, 'package.json'), '{ "type": "module" }')
  writeFileSync(join(root, 'package-lock.json'), '{}')
  writeFileSync(join(root, 'infra/bin/start.ts'), 'console.log("started", ...process.argv.slice(2))')
})
afterEach(() => {
  for (const child of started.splice(0)) child.kill('SIGKILL')
  rmSync(root, { recursive: true, force: true })
})

/** It empties node_modules first, as `npm ci` does. */
function writeNpm(seconds: number, code = 0): void {
  const script = `#!/bin/sh
echo "$@" >> '${root}/asked'
rm -rf node_modules && mkdir -p node_modules/.bin && ln -s '${process.execPath}' node_modules/.bin/node
sleep ${seconds} &
trap "kill $!" TERM
wait || exit 1
echo "disk full" >&2
echo done >> '${root}/asked'
exit ${code}`
  writeFileSync(join(root, 'bin', 'npm'), script)
  chmodSync(join(root, 'bin', 'npm'), 0o755)
}

function setup(...args: string[]) {
  const env = { ...process.env, PATH: `${root}/bin:/usr/bin:/bin` }
  const child = spawn(process.execPath, ['infra/setup.mjs', 'start', ...args], {
    cwd: root,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  started.push(child)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', part => (output += String(part)))
  const ended = new Promise<{ code: number | null; output: string }>(resolve =>
    child.once('close', code => resolve({ code, output })),
  )
  return { child, ended }
}
const asked = () =>
  existsSync(join(root, 'asked')) ? readFileSync(join(root, 'asked'), 'utf8').trim().split('\n') : []
const INSTALLS = expect.stringMatching(/^ci /)

it('installs once, then starts what it was asked for', async () => {
  writeNpm(0)
  const first = await setup('--demo-only').ended
  expect(first).toEqual({
    code: 0,
    output: expect.stringMatching(/^· Installing packages and .* … \d+ s\nstarted --demo-only\n$/),
  })
  expect(await setup().ended).toEqual({ code: 0, output: 'started\n' })
  expect(asked()).toEqual([INSTALLS, 'done'])
})

it('installs once for two concurrent starts; the second waits and reports it', async () => {
  writeNpm(1)
  const both = [setup(), setup()]
  const ends = await Promise.all(both.map(({ ended }) => ended))
  expect(ends.map(({ code }) => code)).toEqual([0, 0])
  expect(asked()).toEqual([INSTALLS, 'done'])
  const waits = ends.map(({ output }) => /^· Waiting for process (\d+) /m.exec(output)?.[1]).filter(Boolean)
  expect(waits).toHaveLength(1)
  expect(both.map(({ child }) => String(child.pid))).toContain(waits[0])
  expect(readdirSync(root).filter(name => name.includes('lock'))).toEqual(['package-lock.json'])
})

it("prints npm's error, and retries the next time", async () => {
  writeNpm(0, 1)
  expect(await setup().ended).toEqual({ code: 1, output: expect.stringMatching(/… failed\.\n.*disk full/s) })
  writeNpm(0)
  expect((await setup().ended).code).toBe(0)
})

it('reports missing npm', async () => {
  // Nothing else is needed up to there.
  const child = spawn(process.execPath, ['infra/setup.mjs', 'start'], { cwd: root, env: { PATH: join(root, 'bin') } })
  started.push(child)
  let output = ''
  child.stderr.on('data', part => (output += String(part)))
  await new Promise(resolve => child.once('close', resolve))
  expect([child.exitCode, output]).toEqual([1, 'npm is not on PATH. Install Node, which includes npm.\n'])
})

it('stops npm when stopped', async () => {
  writeNpm(1000)
  const { child, ended } = setup()
  await until(() => asked().length > 0, 'npm')
  child.kill('SIGTERM')
  expect((await ended).code).toBe(143)
  writeNpm(0)
  expect((await setup().ended).code).toBe(0)
})
