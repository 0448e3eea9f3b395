/**
 * npm's own audit against a test registry: vulnerabilities are reported unless they are exempt; a registry without
 * advisories is reported as such.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server, type ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Allowed, allowedIn, assessAudit, auditPackages } from '../../infra/tools/audit.ts'

const TODAY = '2026-11-22'
const ADVISORY = {
  id: 1,
  url: 'https://github.com/advisories/GHSA-aaaa-bbbb-cccc',
  title: 'Everything is shown to everybody',
  severity: 'high',
  vulnerable_versions: '<2.0.0',
  cwe: [],
  cvss: { score: 8, vectorString: null },
}
const allow = (over: Partial<Allowed[number]> = {}): Allowed => [
  {
    id: 'GHSA-aaaa-bbbb-cccc',
    package: 'leaky',
    reason: 'The leaking part is not called by us.',
    until: TODAY,
    ...over,
  },
]

let folder: string
let registry: Server
let address: string
let advisories: (response: ServerResponse) => void

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'audit-'))
  const manifest = { name: 'audited', version: '1.0.0', dependencies: { leaky: '1.0.0' } }
  const leaky = { version: '1.0.0', resolved: 'https://registry.test/leaky.tgz', integrity: 'sha512-x' }
  const packages = { '': manifest, 'node_modules/leaky': leaky }
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest))
  writeFileSync(join(folder, 'package-lock.json'), JSON.stringify({ ...manifest, lockfileVersion: 3, packages }))
  advisories = response => response.end(JSON.stringify({ leaky: [ADVISORY] }))
  registry = createServer((request, response) => {
    request.resume()
    response.setHeader('content-type', 'application/json')
    if (request.url?.endsWith('/advisories/bulk')) advisories(response)
    else if (request.url === '/leaky') response.end(JSON.stringify(PACKUMENT))
    else response.writeHead(404).end('{}')
  })
  await new Promise<void>(listening => registry.listen(0, '127.0.0.1', listening))
  address = `http://127.0.0.1:${(registry.address() as { port: number }).port}`
})
afterEach(() => {
  registry.closeAllConnections()
  registry.close()
  rmSync(folder, { recursive: true })
})

const PACKUMENT = {
  name: 'leaky',
  'dist-tags': { latest: '2.0.0' },
  versions: Object.fromEntries(['1.0.0', '2.0.0'].map(version => [version, { name: 'leaky', version, dist: {} }])),
}

const audit = (allowed: Allowed = []) =>
  auditPackages(folder, allowed, TODAY, ['--registry', address, '--cache', join(folder, 'cache')])

describe('advisories from npm', { timeout: 60_000 }, () => {
  it('names package, advisory and link', async () => {
    const findings = [`leaky: Everything is shown to everybody (high, ${ADVISORY.url})`]
    expect(await audit()).toEqual({ kind: 'checked', findings })
  })

  it('ignores allowed advisories', async () => {
    expect(await audit(allow())).toEqual({ kind: 'checked', findings: [] })
  })

  it('reports none when there are none', async () => {
    advisories = response => response.end('{}')
    expect(await audit()).toEqual({ kind: 'checked', findings: [] })
  })

  it('reports an unreachable registry', async () => {
    advisories = response => response.writeHead(405).end()
    expect(await audit()).toMatchObject({ kind: 'unavailable', why: expect.not.stringContaining('127.0.0.1') })
  })
})

describe('allowed advisories', () => {
  const printed = (...via: object[]) => JSON.stringify({ auditReportVersion: 2, vulnerabilities: { leaky: { via } } })
  const found = { name: 'leaky', title: 'A hole', url: ADVISORY.url, severity: 'critical' }
  const complaintsOf = (allowed: Allowed) => assessAudit(printed(found), allowed, TODAY)

  it('applies to one advisory of one package', () => {
    const hole = `leaky: A hole (critical, ${ADVISORY.url})`
    expect(complaintsOf(allow({ package: 'other' }))).toEqual({ kind: 'checked', findings: [hole] })
    expect(complaintsOf(allow({ id: 'GHSA-aaaa-bbbb-dddd' }))).toEqual({ kind: 'checked', findings: [hole] })
  })

  it('expires, and is then reported', () => {
    const late = complaintsOf(allow({ until: '2026-11-21' }))
    expect(late).toMatchObject({
      findings: [expect.stringContaining('A hole'), expect.stringContaining('2026-11-21')],
    })
  })

  it('needs no entry below high severity', () => {
    const small = printed({ ...found, severity: 'moderate' })
    expect(assessAudit(small, [], TODAY)).toEqual({ kind: 'checked', findings: [] })
  })

  it('is in a valid file without expired entries', () => {
    const allowed = allowedIn(resolve(import.meta.dirname, '../..'))
    expect(allowed.filter(({ until }) => until < new Date().toISOString().slice(0, 10))).toEqual([])
  })
})
