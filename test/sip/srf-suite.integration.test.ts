/** drachtio-srf's own tests against two of our servers: they verify that we implement drachtio's protocol. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, it } from 'vitest'
import { interop } from '../interop/interop.ts'
import { lacks } from '../support/needs.ts'
import { prepareSuite } from './srf-suite/prepare.ts'

/** Asserts of each file in drachtio-srf 5.0.29; fewer means that a test broke off. */
const ASSERTS = { utils: 28, uas: 9, uac: 20, 'reinvite-tests': 2, proxy: 3, refer: 2, b2b: 20 } as const
const UNIT_TESTS = 52
const MINUTES = 60_000

/** As root a namespace can be had at once; others need user namespaces, which some systems forbid. */
const namespace = process.getuid?.() === 0 ? ['-nm'] : ['-rnm']

/** Others than root go without these tests where they may not; of root it is a fault. */
const canIsolate =
  process.getuid?.() === 0 ||
  (!lacks('sipp', 'ip', 'unshare') && spawnSync('unshare', [...namespace, 'true']).status === 0)

function demand(command: string, args: string[], why: string, mustSucceed: boolean): void {
  const run = spawnSync(command, args, { encoding: 'utf8' })
  if (run.error || (mustSucceed && run.status !== 0)) {
    throw new Error(`${why} (${run.error ? run.error.message : run.stderr.trim()})`)
  }
}

let folder = ''
let scratch = ''

beforeAll(async () => {
  folder = prepareSuite()
  scratch = mkdtempSync(join(tmpdir(), 'srf-suite-'))
}, 3 * MINUTES)

it(
  'unit tests',
  () => {
    const mocha = join(folder, 'package', 'node_modules', 'mocha', 'bin', 'mocha.js')
    const run = spawnSync(process.execPath, [mocha, '--reporter', 'json', 'test/unit-tests/'], {
      cwd: join(folder, 'package'),
      encoding: 'utf8',
      maxBuffer: 2 ** 26,
    })
    const report = JSON.parse(run.stdout.slice(run.stdout.indexOf('{\n  "stats"')))
    expect(report.stats).toMatchObject({ passes: UNIT_TESTS, failures: 0, pending: 0 })
  },
  MINUTES,
)

describe.skipIf(!canIsolate)('against two servers', () => {
  beforeAll(async () => {
    demand('sipp', ['-v'], 'this test needs sipp on PATH (Debian package sip-tester)', false)
    demand('ip', ['-V'], 'this test needs ip on PATH (Debian package iproute2)', false)
    demand('unshare', [...namespace, 'true'], 'this test makes a network namespace with unshare: run it as root', true)
    const inside = fileURLToPath(new URL('./srf-suite/inside.ts', import.meta.url))
    const args = [...namespace, process.execPath, inside, folder, scratch, ...Object.keys(ASSERTS)]
    const run = spawn('unshare', args, { stdio: ['ignore', 'inherit', 'inherit'] })
    const [code] = await once(run, 'exit')
    if (code !== 0) throw new Error(`the namespace ended with status ${code}; logs lie in ${scratch}`)
  }, 8 * MINUTES)

  it.each(Object.entries(ASSERTS))('%s passes all its %i asserts', (name, asserts) => {
    const tap = readFileSync(join(scratch, `${name}.tap`), 'utf8')
    const failures = tap.split('\n').filter(line => line.startsWith('not ok') || /^(# fail|error received)/.test(line))
    expect(failures).toEqual([])
    expect(Number(/^# pass\s+(\d+)/m.exec(tap)?.[1])).toBe(asserts)
    expect(readFileSync(join(scratch, `${name}.exit`), 'utf8')).toBe('0')
  })

  /** By the words of its own asserts. */
  const passed = (name: keyof typeof ASSERTS, assert: string) => async () => {
    const tap = readFileSync(join(scratch, `${name}.tap`), 'utf8').split('\n')
    expect(tap.filter(line => line.endsWith(` ${assert}`))).toEqual([expect.stringMatching(/^ok /)])
  }
  interop('drachtio-srf', {
    cells: {
      inbound: passed('uas', 'Srf#createUAS returns a promise'),
      outbound: passed('uac', 'Srf#createUAC returns a Promise that resolves with the uac dialog'),
      digest: passed('uac', 'Srf#createUAC can handle digest authentication'),
      're-INVITE': passed('uac', 'SipDialog will handle authentication on re-invites'),
      transfer: passed('refer', 'attended transfer success'),
      'early media': passed('uac', 'Srf#createUAC sends PRACK when received RSeq'),
      CANCEL: passed('b2b', 'b2b CANCELs B leg when CANCEL is received from A'),
      timeouts: passed('uas', 'uas dialog destroyed with ACK timeout after 32s'),
    },
  })
})
