/** The examples of `examples/README.md`, run unchanged against a listening server. */
import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startWorkers, type Workers } from '../../control/platform/jobs/jobs.ts'
import { deliver } from '../../control/webhooks/deliver.ts'
import { onPath } from '../../infra/setup/prepare.ts'
import { createControl, createTenant, nextPhone, type Tenant, type TestControl } from '../support/control.ts'
import { plainFetch } from '../support/receiver.ts'
import { until } from '../support/world.ts'

const folder = join(import.meta.dirname, '../../examples')
const text = readFileSync(join(folder, 'README.md'), 'utf8')
const examples = new Map(
  [...text.matchAll(/^```(\w+) run=([\w-]+)\n([\s\S]*?)^```$/gm)].map(([, language, name, code]) => [
    name!,
    { language: language!, code: code! },
  ]),
)

const missing = ['curl', 'python3'].filter(program => !onPath(program))
if (missing.length > 0) console.log(`${missing.join(' and ')} cannot be found: their examples are skipped`)
const has = (program: string) => !missing.includes(program)

let control: TestControl
let workers: Workers
let tenant: Tenant
let address: string
const children = new Set<ChildProcess>()

beforeAll(async () => {
  control = await createControl({ fetch: plainFetch })
  workers = await startWorkers(control.deps, {
    'call.place': async () => {},
    'campaign.place': async () => {},
    'trunks.publish': async () => {},
    'softphone.publish': async () => {},
    'knowledge.index': async () => {},
    'knowledge.forget': async () => {},
    'leads.search': async () => {},
    'account.erase': async () => {},
    'webhook.deliver': data => deliver(control.deps, data),
  })
  address = await control.app.listen({ port: 0, host: '127.0.0.1' })
  tenant = await createTenant(control, { money: '1000' })
})
afterAll(async () => {
  for (const child of children) child.kill('SIGKILL')
  await workers?.stop()
  await control?.close()
})

const commands: Record<string, (code: string) => [string, string[]]> = {
  // Fed by a socket, bash takes itself for a remote one and reads its start-up files, which `-u` breaks.
  sh: code => ['bash', ['--norc', '-euo', 'pipefail', '-c', code]],
  ts: code => ['node', ['--disable-warning=ExperimentalWarning', '--input-type=module-typescript', '--eval', code]],
  python: code => ['python3', ['-c', code]],
}

function start(name: string, env: Record<string, string> = {}) {
  const { language, code } = examples.get(name)!
  const [command, args] = commands[language]!(code)
  const child = spawn(command, args, {
    cwd: folder,
    env: {
      ...process.env,
      PARLEY_URL: address,
      PARLEY_KEY: tenant.key,
      PARLEY_PROJECT: tenant.projectId,
      ...env,
    },
  })
  children.add(child)
  const run = { child, output: '', done: Promise.resolve<number | null>(null) }
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', part => {
      run.output += part
    })
  }
  run.done = new Promise(resolve => child.once('close', resolve))
  return run
}

async function finished(name: string, env: Record<string, string> = {}): Promise<string> {
  const run = start(name, env)
  expect(await run.done, run.output).toBe(0)
  return run.output
}

const newest = async () => (await tenant.call('GET', '/calls?limit=1')).body.items[0]

test('tests every example', () => {
  const names = ['place-curl', 'place-client', 'place-fetch', 'place-python', 'follow', 'webhook-ts', 'webhook-python']
  expect([...examples.keys()]).toEqual([...names, 'mcp-config', 'mcp-tools'])
})

test.skipIf(!has('curl'))('places a call once by curl, however often it is sent', async () => {
  const phone = nextPhone()
  const first = JSON.parse(await finished('place-curl', { PARLEY_PHONE: phone }))
  expect(first).toMatchObject({ status: 'queued', to: phone, project_id: tenant.projectId })
  expect(JSON.parse(await finished('place-curl', { PARLEY_PHONE: phone }))).toEqual(first)
})

test.each(['place-client', 'place-fetch', ...(has('python3') ? ['place-python'] : [])])('a call: %s', async name => {
  const phone = nextPhone()
  const output = await finished(name, { PARLEY_PHONE: phone })
  const call = await newest()
  expect(call.to).toBe(phone)
  expect(output).toBe(`${call.id} is queued\n`)
})

test('reports a rejection', async () => {
  const phone = nextPhone()
  await tenant.call('POST', '/do-not-call', { phone })
  expect(await finished('place-client', { PARLEY_PHONE: phone })).toBe('They asked not to be called.\n')
  for (const name of ['place-fetch', ...(has('python3') ? ['place-python'] : [])]) {
    const run = start(name, { PARLEY_PHONE: phone })
    expect(await run.done).toBe(1)
    expect(run.output).toContain('do_not_call: ')
  }
})

test.skipIf(!has('curl'))('streams the events of a call', async () => {
  const { body } = await tenant.call('POST', '/calls', { project_id: tenant.projectId, phone: nextPhone() })
  const run = start('follow', { PARLEY_CALL: body.id })
  await tenant.call('POST', `/calls/${body.id}/hangup`)
  expect(await run.done, run.output).toBe(0)
  expect(run.output).toContain('event: call.ended\ndata: {"status":"canceled"')
})

/** Returns a port that is currently free. */
async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  await new Promise(resolve => server.close(resolve))
  return port
}

test.each(['webhook-ts', ...(has('python3') ? ['webhook-python'] : [])])('a receiver: %s', async name => {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}/`
  const { body } = await tenant.call('POST', '/webhooks', { url, events: ['call.failed'] })
  const run = start(name, { PORT: String(port), PARLEY_WEBHOOK_SECRET: body.secret })
  await until(() => fetch(url, { method: 'POST', body: '{}' }).catch(() => null), 'the receiver to listen')
  await tenant.call('POST', `/webhooks/${body.id}/test`)
  await until(() => /^test$/m.test(run.output), `the event in ${run.output}`)
  // Events without a signature are rejected, before and after the valid one.
  expect(run.output).toMatch(/^refused/)
  const forged = await fetch(url, {
    method: 'POST',
    headers: {
      'webhook-id': 'x',
      'webhook-timestamp': String(Math.floor(Date.now() / 1000)),
      'webhook-signature': 'v1,AAAA',
    },
    body: '{"event":"call.failed"}',
  })
  expect(forged.status).toBe(400)
  await until(async () => {
    const log = await tenant.call('GET', `/webhooks/${body.id}/deliveries`)
    return log.body.items[0]?.status === 'delivered'
  }, 'the delivery to be noted')
  run.child.kill()
  await run.done
})

test('connects to the tools with the MCP client configuration', async () => {
  const { parley } = JSON.parse(examples.get('mcp-config')!.code).mcpServers
  expect(parley.type).toBe('http')
  const response = await fetch(`${address}${new URL(parley.url).pathname}`, {
    method: 'POST',
    headers: {
      Authorization: parley.headers.Authorization.replace('svc_…', tenant.key),
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
  })
  expect(response.status).toBe(200)
})

test.skipIf(!has('curl'))('calls the tools by curl', async () => {
  const { result } = JSON.parse(await finished('mcp-tools'))
  expect(result.tools.map((tool: { name: string }) => tool.name)).toEqual(
    expect.arrayContaining(['list_projects', 'place_call', 'get_balance']),
  )
})
