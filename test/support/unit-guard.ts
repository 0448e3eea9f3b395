/**
 * Set-up of the `unit` project: a unit test needs nothing but the checkout and node_modules. Starting a process throws,
 * and there are no downloaded models. A test that needs either is named `*.integration.test.ts`.
 */
import childProcess from 'node:child_process'
import { syncBuiltinESMExports } from 'node:module'

const starters = ['exec', 'execFile', 'execFileSync', 'execSync', 'fork', 'spawn', 'spawnSync'] as const

for (const name of starters) {
  Object.assign(childProcess, {
    [name]: () => {
      throw new Error(`A unit test starts no process (${name}): name its file *.integration.test.ts.`)
    },
  })
}
syncBuiltinESMExports()

process.env['PARLEY_CACHE'] = '/nonexistent'
