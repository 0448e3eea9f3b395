import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { lacks } from '../../support/needs.ts'
import type { Pair } from './far.ts'

/** A self-signed certificate for `names` (`DNS:a.example, URI:sip:b.example`), made by openssl: another hand than ours. */
export function testPair(names: string): Pair {
  if (lacks('openssl')) return { cert: '', key: '' } // tests that are skipped are described all the same
  const folder = mkdtempSync(join(tmpdir(), 'pair-'))
  try {
    const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
    execFileSync(
      'openssl',
      [
        ...['req', '-x509', '-nodes', '-days', '2', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1'],
        ...['-subj', '/CN=test', '-addext', `subjectAltName=${names}`, '-keyout', key, '-out', cert],
      ],
      { stdio: 'pipe' },
    )
    return { cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') }
  } finally {
    rmSync(folder, { recursive: true })
  }
}
