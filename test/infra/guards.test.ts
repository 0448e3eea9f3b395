/** Guards of the process: logs without transcripts, addresses that are not public, limits of fetches, settings. */
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createHole } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { createLog } from '../../infra/adapters/log.ts'
import { createSafeFetch, createSafeWebFetch, isPublic } from '../../infra/adapters/safe-fetch.ts'
import { ConfigError, readConfig } from '../../infra/config/config.ts'
import { openRedis } from '../../infra/wiring/parts.ts'
import { quietLog, until } from '../support/world.ts'

const open: { close(): void }[] = []
afterEach(() => {
  for (const server of open.splice(0)) server.close()
})

async function serve(handle: (request: IncomingMessage, response: ServerResponse) => void): Promise<number> {
  const server = createServer(handle)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  open.push({
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  })
  return (server.address() as { port: number }).port
}

describe('the log', () => {
  it('omits properties that libraries add to errors', () => {
    let lines = ''
    const log = createLog('test', 'info', { write: line => (lines += line) })
    const error = Object.assign(new Error('Bad Request'), {
      requestBodyValues: { messages: [{ content: 'my card is 4111' }] },
      command: { name: 'xadd', args: ['{"to":"+12025550190"}'] },
      responseHeaders: { 'set-cookie': 'key' },
    })
    log.error({ err: error }, 'text model failed')
    expect(lines).toContain('Bad Request')
    for (const secret of ['4111', '+12025550190', 'set-cookie']) expect(lines).not.toContain(secret)
  })
})

describe('addresses', () => {
  it.each([
    '::7f00:1',
    '::2',
    '4000::1',
    'fe00::1',
    'fec0::1',
    '64:ff9b:1::7f00:1',
    '::ffff:0:7f00:1',
    '168.63.129.16',
  ])('%s is not public', address => expect(isPublic(address)).toBe(false))
  it.each(['::ffff:168.63.129.16'])('%s is not public either', address => expect(isPublic(address)).toBe(false))
})

describe('the allow list', () => {
  it('accept capitals and brackets', async () => {
    const port = await serve((_, response) => response.end('hello'))
    const fetch = createSafeFetch({ allow: [`LOCALHOST:${port}`], resolve: async () => ['127.0.0.1'] })
    const answer = await fetch({
      url: `http://localhost:${port}/`,
      method: 'GET',
      headers: {},
      body: null,
      timeoutMs: 3000,
      maxBytes: 100,
      maxRedirects: 0,
      signal: new AbortController().signal,
    })
    expect(answer.status).toBe(200)
  })
})

describe('the guard for libraries', () => {
  it('keeps no connection alive', async () => {
    let connection: string | undefined
    const port = await serve((request, response) => {
      connection = request.headers.connection
      response.writeHead(200, { 'keep-alive': 'timeout=600', 'x-test': 'here' }).end('ok')
    })
    const answer = await createSafeWebFetch({ allow: [`127.0.0.1:${port}`] })(`http://127.0.0.1:${port}/`)
    expect([answer.status, answer.headers.get('x-test'), await answer.text()]).toEqual([200, 'here', 'ok'])
    expect(connection).toBe('close')
  })

  it('aborts an endless response', async () => {
    const port = await serve((_, response) => {
      response.writeHead(500)
      const part = Buffer.alloc(1024 * 1024)
      const more = () => {
        while (!response.destroyed && response.write(part));
      }
      response.on('drain', more)
      more()
    })
    const answer = await createSafeWebFetch({ allow: [`127.0.0.1:${port}`] })(`http://127.0.0.1:${port}/`)
    await expect(answer.text()).rejects.toThrow('more than')
  })
})

describe('a silent Redis', () => {
  it('times out and retries', async () => {
    let connections = 0
    const hole = createHole(() => connections++)
    await new Promise<void>(resolve => hole.listen(0, '127.0.0.1', resolve))
    open.push(hole)
    const redis = openRedis(`redis://127.0.0.1:${(hole.address() as { port: number }).port}`, quietLog)
    open.push({ close: () => redis.disconnect() })
    await until(() => connections > 1, 'a second try', 12_000)
  }, 180_000)
})

describe('settings', () => {
  const home = () => mkdtempSync(join(tmpdir(), 'parley-config-'))

  it('ignore empty variables', () => {
    const config = readConfig({ PARLEY_HOME: home(), HTTP_PORT: '', SPEECH_PORT: '', REDIS_URL: '' })
    expect([config.HTTP_PORT, config.SPEECH_PORT, config.REDIS_URL]).toEqual([8080, undefined, undefined])
  })

  it.each([
    [{ LLM_BASE_URL: 'http://127.0.0.1:1/v1' }, 'LLM_MODEL'],
    [{ LLM_MODEL: 'm' }, 'LLM_BASE_URL'],
    [{ RTP_PORT_MIN: '30000' }, 'RTP_PORT_MAX'],
    [{ RTP_PORT_MIN: '20000', RTP_PORT_MAX: '20000' }, 'RTP_PORT_MAX'],
  ])('reject the combination %j', (env, name) => {
    expect(() => readConfig({ PARLEY_HOME: home(), ...env })).toThrow(name)
  })

  it('keep one secret, and reject an empty file', () => {
    const folder = home()
    const { secret } = readConfig({ PARLEY_HOME: folder })
    expect(secret.length).toBeGreaterThan(40)
    expect(readConfig({ PARLEY_HOME: folder }).secret).toBe(secret)
    expect(readdirSync(folder)).toEqual(['secret'])
    expect(readFileSync(join(folder, 'secret'), 'utf8')).toBe(secret)
    writeFileSync(join(folder, 'secret'), '')
    expect(() => readConfig({ PARLEY_HOME: folder })).toThrow(ConfigError)
  })
})
