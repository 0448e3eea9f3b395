/** `node infra/deploy/docker/dashboard.ts`: builds the dashboard for an image; a failure ends the image build. */

import { createReporter } from '../../setup/prepare.ts'
import { ensureDashboard } from '../../tools/dashboard.ts'

const problem = await ensureDashboard(createReporter())
if (problem !== null) console.error(`Couldn’t build the dashboard: ${problem}`)
process.exit(problem === null ? 0 : 1)
