/** The doctor: its findings within this process, and `node infra/bin/doctor.ts` as a process. */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { expect } from 'vitest'
import { examine as examineAll } from '../../infra/doctor/doctor.ts'
import type { Finding, FindingStatus } from '../../infra/doctor/finding.ts'
import { freePort } from '../../infra/embedded/ports.ts'

const program = join(import.meta.dirname, '../../infra/bin/doctor.ts')

export interface Told {
  code: number | null
  out: string
  err: string
}

/** With exactly these settings. */
export function callDoctor(args: string[], given: Record<string, string>): Promise<Told> {
  const { PATH = '', HOME = '' } = process.env
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', program, ...args], {
    env: { PATH, HOME, ...given },
  })
  const told: Told = { code: null, out: '', err: '' }
  child.stdout.on('data', data => (told.out += String(data)))
  child.stderr.on('data', data => (told.err += String(data)))
  return new Promise(resolve => child.on('close', code => resolve({ ...told, code })))
}

export interface Examined {
  code: number | null
  findings: Finding[]
}

/** Runs `doctor --json`, and checks that it prints nothing else, exits with its result, and prints no secret of `given`. */
export async function examineByProgram(given: Record<string, string>): Promise<Examined> {
  const { code, out, err } = await callDoctor(['--json'], given)
  expect(err).toBe('')
  for (const secret of secretsOf(given)) expect(out).not.toContain(secret)
  const { findings } = JSON.parse(out) as { findings: Finding[] }
  expect(code).toBe(findings.some(({ status }) => status === 'error') ? 1 : 0)
  return { code, findings }
}

/** Examines within this process, and checks that no finding holds a secret of `given`. */
export async function examine(given: Record<string, string>): Promise<Finding[]> {
  const { PATH, HOME } = process.env
  const { findings } = await examineAll({ PATH, HOME, ...given })
  const text = JSON.stringify(findings)
  for (const secret of secretsOf(given)) expect(text).not.toContain(secret)
  return findings
}

export function secretsOf(given: Record<string, string>): string[] {
  const names = ['PARLEY_SECRET', 'DRACHTIO_SECRET', 'LIVEKIT_API_SECRET', 'BLOB_S3_SECRET_KEY']
  const passwords = [given['DATABASE_URL'], given['REDIS_URL'], given['SMTP_URL']].map(url =>
    url ? new URL(url).password : '',
  )
  return [...names.map(name => given[name] ?? ''), ...passwords].filter(secret => secret.length > 8)
}

export function worst(findings: readonly Finding[], part: string): FindingStatus | 'absent' {
  const statuses = findings.filter(finding => finding.part === part).map(({ status }) => status)
  return (['error', 'warning', 'ok', 'skipped'] as const).find(status => statuses.includes(status)) ?? 'absent'
}

/** Expects one finding with a fix. */
export async function expectFinding(
  given: Record<string, string>,
  part: string,
  status: 'error' | 'warning',
  text: RegExp,
): Promise<Finding[]> {
  const findings = await examine(given)
  const found = findings.filter(finding => finding.part === part)
  const hit = found.find(finding => finding.status === status && text.test(finding.text))
  expect(hit, JSON.stringify(found, null, 2)).toBeDefined()
  expect(hit!.todo).toMatch(/\w.{4}/)
  return findings
}

/** A port without a listener. */
export const closedPort = async (): Promise<string> => String(await freePort(30_000))
