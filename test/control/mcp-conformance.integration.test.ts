/** The conformance suite of MCP, with the server scenarios that need no special tools. */
import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, request as httpRequest, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createControl, createTenant, type TestControl } from '../support/control.ts'

let control: TestControl
let door: Server
let url: string
let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'parley-mcp-'))
  // The suite does not support keys, so a proxy in front of the server adds one and forwards everything else unchanged.
  let target = { port: 0, key: '' }
  door = createServer((incoming, outgoing) => {
    const { method, url: path, headers } = incoming
    const onward = httpRequest(
      { port: target.port, host: '127.0.0.1', method, path, headers: { ...headers, 'x-api-key': target.key } },
      answer => void answer.pipe(outgoing.writeHead(answer.statusCode!, answer.headers)),
    )
    onward.on('error', () => outgoing.destroy())
    incoming.pipe(onward)
  })
  await new Promise<void>(resolve => door.listen(0, '127.0.0.1', resolve))
  const { port } = door.address() as { port: number }
  url = `http://localhost:${port}`
  control = await createControl({ config: { base_url: url } })
  const address = await control.app.listen({ port: 0, host: '127.0.0.1' })
  target = { port: Number(new URL(address).port), key: (await createTenant(control)).key }
})
afterAll(async () => {
  await new Promise(resolve => door?.close(resolve))
  await control?.close()
  await rm(folder, { recursive: true, force: true })
})

test.each(['server-initialize', 'ping', 'tools-list', 'dns-rebinding-protection'])('%s', async scenario => {
  const suite = join(import.meta.dirname, '../../node_modules/@modelcontextprotocol/conformance/dist/index.js')
  const args = [suite, 'server', '--url', `${url}/mcp`, '--scenario', scenario, '--output-dir', folder]
  const { code, output } = await new Promise<{ code: number; output: string }>(resolve =>
    execFile(process.execPath, args, (error, stdout, stderr) =>
      resolve({ code: error ? Number(error.code ?? 1) : 0, output: stdout + stderr }),
    ),
  )
  expect([code, output]).toEqual([0, expect.stringMatching(/\b[1-9]\d* passed|Passed: [1-9]/)])
})
