import { join } from 'node:path'
import { expect, it } from 'vitest'
import { crashedFile } from '../../../infra/tools/test-runner.ts'

it('names the file of a worker that crashed, so that it runs once more, alone', () => {
  const file = join(process.cwd(), 'test/e2e/realtime.test.ts')
  const error = `[vitest-pool]: Worker forks emitted error.\nCaused by: Worker exited unexpectedly with signal SIGSEGV during started state while running test file ${file}`
  expect(crashedFile(error)).toBe('test/e2e/realtime.test.ts')
  expect(crashedFile('connect ECONNREFUSED')).toBeNull()
})
