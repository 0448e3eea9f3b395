/**
 * `npm run audit`: checks our dependencies for known vulnerabilities (`npm audit`). infra/tools/audit-allowed.json
 * exempts those that have no fix yet, each with a reason and an expiry date. The result is a report and does not fail a
 * build, because not every registry supports it.
 */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'

const Allowed = z.array(
  z.strictObject({
    /** The advisory's id at GitHub. */
    id: z.string().regex(/^GHSA(?:-[0-9a-z]{4}){3}$/),
    package: z.string().min(1),
    reason: z.string().min(20),
    /** The last day of the exemption. */
    until: z.iso.date(),
  }),
)
export type Allowed = z.output<typeof Allowed>

const Advisory = z.object({ name: z.string(), title: z.string(), url: z.string(), severity: z.string() })
const Report = z.object({
  auditReportVersion: z.literal(2),
  /** By package; `via` names its own advisories, and packages whose vulnerabilities affect it. */
  vulnerabilities: z.record(z.string(), z.object({ via: z.array(z.union([z.string(), Advisory])) })),
})

const GRAVE = new Set(['high', 'critical'])
const ANSWERS_WITHIN_MS = 60_000

export type Audit =
  | { readonly kind: 'checked'; readonly findings: readonly string[] }
  /** The registry has no advisories, or did not answer. */
  | { readonly kind: 'unavailable'; readonly why: string }

export const allowedIn = (folder: string): Allowed =>
  Allowed.parse(JSON.parse(readFileSync(join(folder, 'infra', 'tools', 'audit-allowed.json'), 'utf8')))

/** `folder` holds package.json and its lock file; `args` are extra arguments for npm. */
export async function auditPackages(
  folder: string,
  allowed: Allowed,
  today: string,
  args: string[] = [],
): Promise<Audit> {
  return assessAudit(await npmAudit(folder, args), allowed, today)
}

function npmAudit(folder: string, args: string[]): Promise<string> {
  const command = ['audit', '--omit=dev', '--audit-level=high', '--json', '--fetch-retries=1', ...args]
  const options = { cwd: folder, timeout: ANSWERS_WITHIN_MS, maxBuffer: 64 * 1024 * 1024 }
  // npm's exit status does not distinguish vulnerabilities from failures; its output does.
  return new Promise(resolve => execFile('npm', command, options, (_error, printed) => resolve(printed)))
}

/** Judges npm's output. `today` as 2026-11-22. */
export function assessAudit(printed: string, allowed: Allowed, today: string): Audit {
  const report = Report.safeParse(readJson(printed))
  if (!report.success) return { kind: 'unavailable', why: failureIn(printed) }
  const via = Object.values(report.data.vulnerabilities).flatMap(one => one.via)
  const grave = new Map(
    via.flatMap(one => (typeof one === 'object' && GRAVE.has(one.severity) ? [[one.url, one]] : [])),
  )
  const passes = (id: string | undefined, name: string): boolean =>
    allowed.some(one => one.id === id && one.package === name && one.until >= today)
  const holes = [...grave.values()]
    .filter(({ url, name }) => !passes(url.split('/').at(-1), name))
    .map(({ name, severity, title, url }) => `${name}: ${title} (${severity}, ${url})`)
  const stale = allowed
    .filter(({ until }) => until < today)
    .map(({ id, until }) => `infra/tools/audit-allowed.json: ${id} exemption expired on ${until}`)
  return { kind: 'checked', findings: [...holes, ...stale] }
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/** npm reports failures as JSON too. The registry's address is removed. */
function failureIn(printed: string): string {
  const { message } = (readJson(printed) ?? {}) as { message?: unknown }
  return typeof message === 'string' ? message.replace(/ - .*/s, '') : 'no answer'
}

if (import.meta.main) {
  const folder = join(import.meta.dirname, '../..')
  const audit = await auditPackages(folder, allowedIn(folder), new Date().toISOString().slice(0, 10))
  if (audit.kind === 'unavailable')
    console.log(`The registry returned no advisories (${audit.why}). Try again later or with another registry.`)
  else console.log(audit.findings.join('\n') || 'No known vulnerabilities of high or critical severity.')
}
