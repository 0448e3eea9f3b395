/**
 * Schemathesis sends requests that the OpenAPI document allows and forbids, and validates every response against it.
 */
import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { readConfig } from '../../infra/config/config.ts'
import { findSchemathesis, type PythonProgram } from '../../infra/tools/python.ts'
import { FetchError } from '../../media/shared/fetch.ts'
import { createControl, createTenant, request, type Tenant, type TestControl } from '../support/control.ts'

const SEED = 20261121
/** Cases for each operation in each of the random phases; the coverage phase has as many as it needs. */
const EXAMPLES = inject('full') ? 100 : 1
/** The coverage phase takes minutes; malformed-requests.integration.test.ts has the commonest of its cases. */
const PHASES = inject('full') ? 'examples,coverage,fuzzing,stateful' : 'examples,fuzzing,stateful'
const LIMIT_MS = inject('full') ? 3_600_000 : 900_000

const program = await findSchemathesis(readConfig().cache)
if (!program) console.log('schemathesis is not installed here (npm test installs it); its test is skipped')

/** Settings for constraints that no schema can express, each with its reason. */
const CONFIG = `
hooks = ${JSON.stringify(join(import.meta.dirname, '../support/schemathesis-hooks.py'))}

# A text that moderation rejects, or an Idempotency-Key that came with another body before, fits the schema all the same.
[checks]
positive_data_acceptance.expected-statuses = ["2xx", "401", "402", "403", "404", "409", "422", "429"]

# Registration needs a user name and a password, and a PATCH is judged together with what is stored.
[[operations]]
include-operation-id = ["create_trunk", "update_trunk"]
[operations.checks]
positive_data_acceptance.expected-statuses = ["2xx", "400", "401", "403", "404", "409", "422", "429"]

# The last day is not before the first, nor more than a year after it, and days begin in 1970.
[[operations]]
include-operation-id = ["get_spend"]
[operations.checks]
positive_data_acceptance.expected-statuses = ["2xx", "400", "401", "403", "404", "409", "422", "429"]

# A text has no address and a page no content.
[[operations]]
include-operation-id = ["add_knowledge"]
[operations.checks]
positive_data_acceptance.expected-statuses = ["2xx", "400", "401", "403", "404", "409", "422", "429"]

# What a file is, is told by what is in it; and whatever stands for one is a file once it is a part of multipart/form-data.
[[operations]]
include-operation-id = ["add_knowledge_file", "add_lead_directory"]
[operations.checks]
positive_data_acceptance.expected-statuses = ["2xx", "400", "401", "403", "404", "409", "415", "422", "429"]
negative_data_rejection.expected-statuses = ["2xx", "4xx"]

# There is no WebRTC server here and no engine, which is told by a documented 503.
[[operations]]
include-operation-id = ["monitor_call", "unmonitor_call", "create_realtime_session", "check_trunk"]
[operations.checks]
not_a_server_error.expected-statuses = ["2xx", "3xx", "4xx", "503"]
positive_data_acceptance.expected-statuses = ["2xx", "401", "402", "403", "404", "409", "422", "429", "503"]

# The terms are accepted once, and what is nothing but spaces is no niche.
[[operations]]
include-operation-id = ["start_lead_search"]
[operations.checks]
positive_data_acceptance.expected-statuses = ["2xx", "400", "401", "402", "403", "404", "409", "422", "429"]

# A code is right or wrong, and valid for a while.
[[operations]]
include-operation-id = ["confirm_number_verification"]
[operations.checks]
positive_data_acceptance.expected-statuses = ["2xx", "400", "401", "403", "404", "409", "422", "429"]

# A key must expire in the future.
[[operations]]
include-operation-id = ["create_key"]
[operations.checks]
positive_data_acceptance.expected-statuses = ["2xx", "400", "401", "403", "409", "422", "429"]
`

let control: TestControl
let tenant: Tenant
let url: string
let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'parley-schemathesis-'))
  control = await createControl({
    config: { rate_limit: { per_key: 1_000_000, per_session: 1_000_000, per_address: 1_000_000, window_ms: 60_000 } },
    // Tools and webhooks have no reachable target.
    fetch: async () => {
      throw new FetchError('blocked_address', 'refused')
    },
  })
  url = await control.app.listen({ port: 0, host: '127.0.0.1' })
  tenant = await createTenant(control, { money: '1000000' })
})
afterAll(async () => {
  await control?.close()
  await rm(folder, { recursive: true, force: true })
})

/** `scheme`: a security scheme of the document. */
async function check(
  { command, args, env }: PythonProgram,
  scheme: string,
  credential: string,
  more: string[] = [],
): Promise<{ code: number | null; output: string }> {
  const config = join(folder, `${scheme}.toml`)
  await writeFile(config, `${CONFIG}\n[auth.openapi.${scheme}]\napi_key = ${JSON.stringify(credential)}\n`)
  const all = [
    ...args,
    ...['--config-file', config, 'run', `${url}/openapi.json`, '--url', url],
    ...['--checks', 'all', '--phases', PHASES, '--continue-on-failure'],
    ...['--seed', String(SEED), '--max-examples', String(EXAMPLES), '--generation-database', 'none'],
    // The document says so in words: text is Unicode without NUL.
    ...['--generation-allow-x00', 'false', '--generation-codec', 'utf-8', '--no-color', '--warnings', 'off'],
    ...more,
  ]
  return new Promise((resolve, reject) => {
    const child = spawn(command, all, { cwd: folder, env: { ...env, PARLEY_TEST_PROJECT: tenant.projectId } })
    let output = ''
    child.stdout.on('data', part => {
      output += part
    })
    child.stderr.on('data', part => {
      output += part
    })
    child.once('error', reject)
    child.once('close', code => resolve({ code, output }))
  })
}

test.skipIf(!program)('with a key: no answer differs from the document', { timeout: LIMIT_MS }, async () => {
  const { code, output } = await check(program!, 'apiKey', tenant.key)
  expect(code, output).toBe(0)
  expect(output).toMatch(/Tested: 1\d\d/)
})

test.skipIf(!program)('with a session: what keys cannot do', { timeout: LIMIT_MS }, async () => {
  const payload = { email: 'session@example.com', password: 'a long enough one' }
  const entered = await request(control.app, { method: 'POST', url: '/auth/sign-up', payload })
  const token = /^parley_session=([^;]+)/.exec(String(entered.headers['set-cookie']))![1]!
  const { code, output } = await check(program!, 'session', token, [
    ...['--header', `Origin: ${control.deps.config.base_url}`],
    ...['--include-tag', 'Keys', '--include-tag', 'Accounts'],
    // These end the session that the others need; the run with a key has tried them without one.
    ...['--exclude-operation-id', 'log_out', '--exclude-operation-id', 'log_out_everywhere'],
  ])
  expect(code, output).toBe(0)
  expect(output).toMatch(/Tested: \d/)
})

/** Error codes of services that this test does not have. */
const ABSENT = ['realtime_unavailable', 'service_unavailable']

test.skipIf(!program)('and nothing of it was a fault of ours', () => {
  const errors = control.deps.log.lines.filter(({ level }) => level === 'error')
  expect(errors.filter(({ fields }) => !ABSENT.includes((fields['error'] as { code?: string })?.code ?? ''))).toEqual(
    [],
  )
})
