/** A vitest reporter for the runner of `npm test` (infra/tools/test-runner.ts); writes to PARLEY_TEST_REPORT. */
import { writeFileSync } from 'node:fs'
import { relative } from 'node:path'
import type { Reporter, TestModule, Vitest } from 'vitest/node'

export interface RunReport {
  files: FileReport[]
  /** Errors outside all files: a failed set-up, an unhandled rejection. */
  errors: string[]
}

export interface FileReport {
  file: string
  project: string
  /** Includes imports and hooks. */
  seconds: number
  /** Errors in loading or setting up the file. */
  errors: string[]
  tests: { name: string; state: 'passed' | 'failed' | 'skipped' | 'pending'; reason: string }[]
}

interface Failure {
  message: string
  stack?: string | undefined
  cause?: unknown
}
/** Includes the cause, which names the test file of a crashed worker. */
function reasonOf({ message, stack, cause }: Failure): string {
  const own = stack?.includes(message) ? stack : `${message}\n${stack ?? ''}`
  return hasMessage(cause) ? `${own}\nCaused by: ${cause.message}` : own
}
const hasMessage = (value: unknown): value is { message: string } =>
  typeof value === 'object' && value !== null && 'message' in value && typeof value.message === 'string'

function fileReport(module: TestModule, root: string): FileReport {
  const { environmentSetupDuration, prepareDuration, collectDuration, setupDuration, duration } = module.diagnostic()
  const ms = environmentSetupDuration + prepareDuration + collectDuration + setupDuration + duration
  const suites = [...module.children.allSuites()]
  return {
    file: relative(root, module.moduleId),
    project: module.project.name,
    seconds: ms / 1000,
    errors: [...module.errors(), ...suites.flatMap(suite => suite.errors())].map(reasonOf),
    tests: [...module.children.allTests()].map(test => {
      const { state, errors } = test.result()
      return { name: test.fullName, state, reason: (errors ?? []).map(reasonOf).join('\n') }
    }),
  }
}

export default class implements Reporter {
  #root = process.cwd()

  onInit(vitest: Vitest): void {
    this.#root = vitest.config.root
  }

  onTestRunEnd(modules: readonly TestModule[], errors: readonly Failure[]): void {
    const report: RunReport = {
      files: modules.map(module => fileReport(module, this.#root)),
      errors: errors.map(reasonOf),
    }
    writeFileSync(process.env['PARLEY_TEST_REPORT']!, JSON.stringify(report))
  }
}
