/** `node infra/deploy/docker/dashboard.ts`: builds the dashboard for an image; a failure ends the image build. */
import { ensureDashboard } from '../../tools/dashboard.ts'
import { createReporter } from '../../tools/prepare.ts'

const problem = await ensureDashboard(createReporter())
if (problem !== null) console.error(`Couldn’t build the dashboard: ${problem}`)
process.exit(problem === null ? 0 : 1)
