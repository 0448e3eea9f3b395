/** The runner of `npm test` as a process: its reports of failed runs. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, describe, expect, it } from 'vitest'
import type { RunResult } from '../../../infra/tools/test-runner.ts'

const runner = join(import.meta.dirname, '../../../infra/tools/test-runner.ts')
const folder = mkdtempSync(join(tmpdir(), 'parley-runner-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function run(args: string[], env: Record<string, string> = {}): Promise<RunResult> {
  const options = JSON.stringify({ folder, args, full: false })
  const script = `
    import { runTests } from ${JSON.stringify(runner)}
    const outcome = await runTests(${options})
    console.log('\\n' + JSON.stringify(outcome))`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script], {
    cwd: join(import.meta.dirname, '../../..'),
    // Servers that are named are not started; nothing here connects to them.
    env: {
      ...process.env,
      PARLEY_TEST_DATABASE_URL: 'postgres://nobody',
      PARLEY_TEST_REDIS_URL: 'redis://nobody',
      ...env,
    },
  })
  return JSON.parse(stdout.trimEnd().split('\n').at(-1)!) as RunResult
}

describe('a run', () => {
  it('counts passed tests, and starts only projects with named files', async () => {
    const outcome = await run(['test/control/lines.test.ts'])
    expect(outcome).toMatchObject({ passed: 3, failed: 0, skipped: 0, failures: [], flaky: [] })
    expect(outcome.slowest.map(({ file, project }) => [file, project])).toEqual([
      ['test/control/lines.test.ts', 'unit'],
    ])
  })

  it('fails when a set-up failed', async () => {
    const outcome = await run(['test/media/recording/wav-file.integration.test.ts'], { PARLEY_TEST_FLEET: 'nonsense' })
    expect(outcome).toMatchObject({ passed: 0, failed: 1 })
    expect(outcome.failures).toEqual([expect.stringContaining('integration: no test ran')])
  })

  it('fails when arguments match no file', async () => {
    expect(await run(['test/no/such.test.ts'])).toMatchObject({ passed: 0, failed: 1 })
  })
})
