/**
 * The first thing on a fresh machine: installs the packages, Node itself among them, and goes on with that Node. Plain
 * JavaScript without dependencies, because whatever Node the machine has must run it.
 */
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const programs = {
  start: 'infra/bin/start.ts',
  test: 'infra/bin/test.ts',
  admin: 'infra/bin/admin.ts',
  bench: 'test/bench/main.ts',
  openapi: 'infra/bin/openapi.ts',
  doctor: 'infra/bin/doctor.ts',
}
const [task = '', ...rest] = process.argv.slice(2)
const program = programs[task]
if (!program) {
  console.error(`Unknown task "${task}". There are: ${Object.keys(programs).join(', ')}.`)
  process.exit(2)
}

const wanted = createHash('sha256')
  .update(readFileSync(join(root, 'package-lock.json')))
  .digest('hex')
const mark = join(root, 'node_modules', '.parley-installed')
const node = join(root, 'node_modules', '.bin', 'node')
if (!existsSync(mark) || readFileSync(mark, 'utf8') !== wanted || !existsSync(node)) {
  const startedAt = Date.now()
  process.stdout.write('· Installing packages, Node among them … ')
  const done = spawnSync('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: root, encoding: 'utf8' })
  if (done.status !== 0) {
    console.log('failed.')
    console.error(done.error?.message ?? `${done.stdout}\n${done.stderr}`)
    process.exit(1)
  }
  writeFileSync(mark, wanted)
  console.log(`${Math.round((Date.now() - startedAt) / 1000)} s`)
}

const path = `${join(root, 'node_modules', '.bin')}:${process.env.PATH}`
const child = spawn(node, ['--disable-warning=ExperimentalWarning', program, ...rest], {
  cwd: root,
  stdio: 'inherit',
  env: { ...process.env, PATH: path },
})
// Ctrl-C reaches the whole group, a plain kill only us: either way the program below decides when it is over.
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal))
child.on('exit', (code, signal) => process.exit(code ?? 128 + (constants.signals[signal] ?? 1)))
