/**
 * `npm run doctor`: checks a whole installation, from settings to disks, and reports problems and their fixes. It
 * changes nothing, works whether Parley is running or not, and prints no secret.
 */
import { parseArgs } from 'node:util'
import { examine } from '../doctor/doctor.ts'
import { type Finding, type FindingStatus, many } from '../doctor/finding.ts'

const USAGE = `Usage: npm run doctor [-- --json]

Check the Parley installation in this directory, or the one in the environment settings, and suggest fixes.
In a container it checks what that container is configured for: run it in control and in an engine.

  --json   Print JSON (combine with npm run --silent)

Exit status: 0 no errors, 1 errors found, 2 invalid usage.`

const MARKS: Record<FindingStatus, string> = { ok: 'ok   ', warning: 'warn ', error: 'ERROR', skipped: 'skip ' }

function render(name: string, findings: readonly Finding[]): string {
  const width = Math.max(...findings.map(({ part }) => part.length))
  const lines = findings.flatMap(({ part, status, text, todo }) => [
    `  ${MARKS[status]}  ${part.padEnd(width)}  ${text}`,
    ...(todo === null ? [] : [`  ${' '.repeat(5)}  ${' '.repeat(width)}  → ${todo}`]),
  ])
  const count = (status: FindingStatus) => findings.filter(finding => finding.status === status).length
  const [bad, warn] = [count('error'), count('warning')]
  const sum = bad + warn === 0 ? 'No problems found.' : `${many(bad, 'error')}, ${many(warn, 'warning')}.`
  return `Checking ${name}\n\n${lines.join('\n')}\n\n${sum}`
}

async function main(argv: string[], env: NodeJS.ProcessEnv): Promise<number> {
  let json = false
  try {
    const { values } = parseArgs({
      args: argv,
      options: { json: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } },
    })
    if (values.help) {
      console.log(USAGE)
      return 0
    }
    json = values.json ?? false
  } catch {
    console.error(USAGE)
    return 2
  }
  const { name, findings } = await examine(env)
  console.log(json ? JSON.stringify({ place: name, findings }, null, 2) : render(name, findings))
  return findings.some(({ status }) => status === 'error') ? 1 : 0
}

process.exitCode = await main(process.argv.slice(2), process.env)
