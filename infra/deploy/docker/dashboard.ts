/** `node infra/deploy/docker/dashboard.ts`: builds the dashboard's page for an image; that it can't ends the build. */

import { createReporter } from '../../setup/prepare.ts'
import { ensureDashboard } from '../../tools/dashboard.ts'

const problem = await ensureDashboard(createReporter())
if (problem !== null) console.error(`The dashboard cannot be built: ${problem}`)
process.exit(problem === null ? 0 : 1)
