/**
 * Time budgets of test files, in seconds including imports and hooks. A file over its budget fails the run, so that a
 * slow test is noticed when it is written.
 */

export const PROJECTS = ['unit', 'integration', 'e2e'] as const
export type ProjectName = (typeof PROJECTS)[number]

interface ProjectBudget {
  /** Seconds for every file that is not named in `FILES`. */
  file: number
  /** Seconds of all files of the project together, on two quiet cores. A run that takes longer raises all budgets. */
  total: number
}

const BUDGETS: Record<ProjectName, ProjectBudget> = {
  unit: { file: 20, total: 450 },
  integration: { file: 45, total: 900 },
  e2e: { file: 60, total: 1100 },
}

/** Files with a larger budget than the others of their project. */
const FILES: Readonly<Record<string, number>> = {
  'test/control/dashboard/projects.integration.test.ts': 90,
  'test/control/leads/cycle.integration.test.ts': 60,
  'test/control/schemathesis.integration.test.ts': 240,
  'test/e2e/chaos.test.ts': 120,
  'test/e2e/realtime.test.ts': 120,
  'test/infra/main.integration.test.ts': 180,
  'test/media/room/leg-ends.integration.test.ts': 90,
  'test/sip/srf-suite.integration.test.ts': 120,
}

/** Machines differ, and a file that waits for a real timer does not get faster on a fast one. */
const TOLERANCE = 2

export interface FileTime {
  file: string
  project: ProjectName
  seconds: number
}

/**
 * Returns one text per file over its budget. Budgets apply to a quiet machine, so they grow with the slowness of the
 * run: the ratio of the project's total time to its total on a quiet machine.
 */
export function overBudget(times: readonly FileTime[]): string[] {
  return PROJECTS.flatMap(project => {
    const files = times.filter(time => time.project === project)
    const together = files.reduce((sum, { seconds }) => sum + seconds, 0)
    const slowness = Math.max(1, together / BUDGETS[project].total)
    return files.flatMap(({ file, seconds }) => {
      const allowed = (FILES[file] ?? BUDGETS[project].file) * TOLERANCE * slowness
      if (seconds <= allowed) return []
      return [
        `${file} took ${seconds.toFixed(0)} s; its budget is ${allowed.toFixed(0)} s (infra/tools/test-budgets.ts)`,
      ]
    })
  })
}
