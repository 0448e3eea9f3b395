/**
 * The entry point on a fresh machine: installs the packages, Node among them, and continues with that Node. Plain
 * JavaScript without dependencies, because any version of Node must be able to run it.
 */
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { takeLock } from './setup/lock.mjs'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const programs = {
  start: 'infra/bin/start.ts',
  test: 'infra/bin/test.ts',
  admin: 'infra/bin/admin.ts',
  bench: 'test/bench/main.ts',
  openapi: 'infra/bin/openapi.ts',
  doctor: 'infra/bin/doctor.ts',
  audit: 'infra/tools/audit.ts',
}
const [task = '', ...rest] = process.argv.slice(2)
const program = programs[task]
if (!program) {
  console.error(`Unknown task "${task}". Use one of: ${Object.keys(programs).join(', ')}.`)
  process.exit(2)
}

const wanted = createHash('sha256')
  .update(readFileSync(join(root, 'package-lock.json')))
  .digest('hex')
const mark = join(root, 'node_modules', '.parley-installed')
const node = join(root, 'node_modules', '.bin', 'node')
const isInstalled = () => existsSync(mark) && readFileSync(mark, 'utf8') === wanted && existsSync(node)
if (!isInstalled()) {
  const release = await takeLock(join(root, '.packages.lock'), { onWait: sayOnce() })
  const problem = isInstalled() ? null : await install()
  release()
  if (problem !== null) {
    console.error(problem)
    process.exit(1)
  }
}

/** When two first runs start in one directory, one installs and the other waits. */
function sayOnce() {
  let told = false
  return ({ pid, heldMs }) => {
    if (told) return
    told = true
    console.log(`· Waiting for process ${pid} to install packages (${Math.round(heldMs / 1000)} s so far)`)
  }
}

/** Returns null on success, otherwise the reason. */
async function install() {
  const startedAt = Date.now()
  process.stdout.write('· Installing packages and Node (about 470 MB, once) … ')
  const npm = spawn('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: root, stdio: 'pipe' })
  // npm must not continue when we exit: the next run would install at the same time.
  const stop = signal => {
    npm.kill(signal)
    npm.once('exit', () => process.exit(128 + constants.signals[signal]))
  }
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, stop)
  let output = ''
  for (const stream of [npm.stdout, npm.stderr]) stream.on('data', part => (output += part))
  const failure = await new Promise(resolve => {
    npm.once('error', error =>
      resolve(error.code === 'ENOENT' ? 'npm is not on PATH. Install Node, which includes npm.' : error.message),
    )
    npm.once('close', code => resolve(code === 0 ? null : output))
  })
  for (const signal of ['SIGINT', 'SIGTERM']) process.off(signal, stop)
  if (failure !== null) {
    console.log('failed.')
    return failure
  }
  writeFileSync(mark, wanted)
  console.log(`${Math.round((Date.now() - startedAt) / 1000)} s`)
  return null
}

const path = `${join(root, 'node_modules', '.bin')}:${process.env.PATH}`
const child = spawn(node, ['--disable-warning=ExperimentalWarning', program, ...rest], {
  cwd: root,
  stdio: 'inherit',
  env: { ...process.env, PATH: path },
})
// Ctrl-C reaches the whole group, a plain kill only this process: in both cases the program decides when to exit.
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal))
child.on('exit', (code, signal) => process.exit(code ?? 128 + (constants.signals[signal] ?? 1)))
