import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createTcp } from 'node:net'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { afterEach, describe, expect, it } from 'vitest'
import { createSafeFetch, isPublic } from '../../infra/adapters/safe-fetch.ts'
import type { FetchRequest } from '../../media/shared/fetch.ts'

const open: { close(): void }[] = []
afterEach(() => {
  for (const server of open.splice(0)) server.close()
})

async function serve(
  handle: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<{ port: number; hits: IncomingMessage[] }> {
  const hits: IncomingMessage[] = []
  const server: Server = createServer((request, response) => {
    hits.push(request)
    handle(request, response)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  open.push({
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  })
  return { port: (server.address() as { port: number }).port, hits }
}

const get = (url: string, changes: Partial<FetchRequest> = {}): FetchRequest => ({
  url,
  method: 'GET',
  headers: {},
  body: null,
  timeoutMs: 3000,
  maxBytes: 1000,
  maxRedirects: 3,
  signal: new AbortController().signal,
  ...changes,
})
const codeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'answered',
    error => error.code,
  )

describe('addresses', () => {
  it.each([
    '127.0.0.1',
    '127.8.8.8',
    '10.1.2.3',
    '172.16.0.1',
    '192.168.1.1',
    '169.254.169.254',
    '100.64.0.1',
    '0.0.0.0',
    '224.0.0.1',
    '255.255.255.255',
    '192.0.2.1',
    '198.18.0.1',
    '240.0.0.1',
    '::1',
    '::',
    'fe80::1',
    'fe80::1%eth0',
    'fc00::1',
    'fd12::1',
    'ff02::1',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '::ffff:10.0.0.1',
    '64:ff9b::7f00:1',
    '2002:7f00:1::',
    '2001::1',
    '2001:db8::1',
  ])('%s is not public', address => {
    expect(isPublic(address)).toBe(false)
  })
  it.each(['8.8.8.8', '1.1.1.1', '2606:4700::1111', '::ffff:8.8.8.8'])('%s is public', address => {
    expect(isPublic(address)).toBe(true)
  })
})

describe('the guard', () => {
  it.each([
    'http://127.0.0.1:PORT/',
    'http://localhost:PORT/',
    'http://[::1]:PORT/',
    'http://[::ffff:127.0.0.1]:PORT/',
    'http://2130706433:PORT/',
    'http://0x7f.1:PORT/',
    'http://127.1:PORT/',
    'http://0:PORT/',
  ])('does not connect to %s', async pattern => {
    let connections = 0
    const server = createTcp(() => connections++)
    await new Promise<void>(resolve => server.listen(0, resolve))
    open.push(server)
    const url = pattern.replace('PORT', String((server.address() as { port: number }).port))
    expect(await codeOf(createSafeFetch({ allow: [] })(get(url)))).toBe('blocked_address')
    expect(connections).toBe(0)
  })

  it('rejects a name with one private address', async () => {
    const fetch = createSafeFetch({ allow: [], resolve: async () => ['8.8.8.8', '127.0.0.1'] })
    expect(await codeOf(fetch(get('http://tool.example/')))).toBe('blocked_address')
  })

  it('resolves once, so that rebinding fails', async () => {
    const { port, hits } = await serve((_, response) => response.end('inside'))
    const answers = [['8.8.8.8'], ['127.0.0.1']]
    const fetch = createSafeFetch({ allow: [], resolve: async () => answers.shift() ?? ['127.0.0.1'] })
    await codeOf(fetch(get(`http://rebind.example:${port}/`, { timeoutMs: 300 })))
    expect(hits).toHaveLength(0)
    expect(answers).toHaveLength(1)
  })

  it('allows exactly the configured hosts and ports', async () => {
    const { port } = await serve((_, response) => response.end('hello'))
    const fetch = createSafeFetch({ allow: [`127.0.0.1:${port}`] })
    expect((await fetch(get(`http://127.0.0.1:${port}/`))).body.toString()).toBe('hello')
    expect(await codeOf(fetch(get(`http://localhost:${port}/`)))).toBe('blocked_address')
    expect(await codeOf(fetch(get(`http://127.0.0.1:${port + 1}/`)))).toBe('blocked_address')
  })

  it.each(['ftp://example.com/', 'file:///etc/passwd', 'nonsense', 'http://user:pass@example.com/'])(
    'rejects %s',
    async url => {
      expect(await codeOf(createSafeFetch({ allow: [] })(get(url)))).toBe('bad_url')
    },
  )
})

describe('connections', () => {
  it('keep connections alive, and close idle ones', async () => {
    const sockets = new Set<IncomingMessage['socket']>()
    const { port, hits } = await serve((request, response) => {
      sockets.add(request.socket)
      response.end('ok')
    })
    const fetch = createSafeFetch({ allow: [`127.0.0.1:${port}`] })
    for (let n = 0; n < 5; n++) await fetch(get(`http://127.0.0.1:${port}/${n}`))
    expect(hits.length).toBe(5)
    expect(sockets.size).toBeLessThan(3) // the second may ask before the first has let go
    await Promise.all([...sockets].map(socket => socket.destroyed || once(socket, 'close')))
  })

  it('are not reused when a name resolves to another address', async () => {
    const { port, hits } = await serve((_, response) => response.end('ok'))
    const addresses = ['127.0.0.1', '127.0.0.9', '10.0.0.1']
    const allow = [`there.test:${port}`]
    const fetch = createSafeFetch({ allow, resolve: async () => [addresses.shift()!] })
    await fetch(get(`http://there.test:${port}/`))
    expect(await codeOf(fetch(get(`http://there.test:${port}/`)))).toBe('network') // the port is closed
    expect(hits.length).toBe(1)
    const strict = createSafeFetch({ allow: [], resolve: async () => ['10.0.0.1'] })
    expect(await codeOf(strict(get(`http://there.test:${port}/`)))).toBe('blocked_address')
  })
})

describe('redirects', () => {
  it('reject a private address without a connection', async () => {
    const inside = await serve((_, response) => response.end('secret'))
    const outside = await serve((_, response) =>
      response.writeHead(302, { location: `http://127.0.0.1:${inside.port}/` }).end(),
    )
    const fetch = createSafeFetch({ allow: [`127.0.0.1:${outside.port}`] })
    expect(await codeOf(fetch(get(`http://127.0.0.1:${outside.port}/`)))).toBe('blocked_address')
    expect(inside.hits).toHaveLength(0)
  })

  it('send credentials to the same origin only', async () => {
    const other = await serve((_, response) => response.end('there'))
    const first = await serve((request, response) => {
      if (request.url === '/away') response.writeHead(307, { location: `http://127.0.0.1:${other.port}/` }).end()
      else if (request.url === '/here') response.writeHead(301, { location: '/end' }).end()
      else response.end('end')
    })
    const fetch = createSafeFetch({ allow: [`127.0.0.1:${first.port}`, `127.0.0.1:${other.port}`] })
    const headers = { authorization: 'Bearer x', 'x-api-key': 'k', cookie: 'c', accept: 'application/json' }
    await fetch(get(`http://127.0.0.1:${first.port}/away`, { headers }))
    expect(other.hits[0]!.headers).not.toMatchObject({ authorization: expect.anything() })
    expect(Object.keys(other.hits[0]!.headers)).not.toEqual(expect.arrayContaining(['x-api-key']))
    expect(other.hits[0]!.headers.accept).toBe('application/json')
    await fetch(get(`http://127.0.0.1:${first.port}/here`, { headers }))
    expect(first.hits.at(-1)!.headers['x-api-key']).toBe('k')
  })

  it('turn a POST into a GET by 303, repeat it by 308', async () => {
    const server = await serve((request, response) => {
      if (request.url === '/303') response.writeHead(303, { location: '/end' }).end()
      else if (request.url === '/308') response.writeHead(308, { location: '/end' }).end()
      else response.end(request.method)
    })
    const fetch = createSafeFetch({ allow: [`127.0.0.1:${server.port}`] })
    const post = (path: string) => fetch(get(`http://127.0.0.1:${server.port}${path}`, { method: 'POST', body: '{}' }))
    expect((await post('/303')).body.toString()).toBe('GET')
    expect((await post('/308')).body.toString()).toBe('POST')
  })

  it('in a loop end', async () => {
    const server = await serve((_, response) => response.writeHead(302, { location: '/' }).end())
    const fetch = createSafeFetch({ allow: [`127.0.0.1:${server.port}`] })
    expect(await codeOf(fetch(get(`http://127.0.0.1:${server.port}/`)))).toBe('too_many_redirects')
    expect(server.hits).toHaveLength(4)
  })
})

describe('limits', () => {
  it('stop an oversized response without a length', async () => {
    const server = await serve((_, response) => {
      const more = () => response.write(Buffer.alloc(64 * 1024), error => error || more())
      more()
    })
    const fetch = createSafeFetch({ allow: [`127.0.0.1:${server.port}`] })
    expect(await codeOf(fetch(get(`http://127.0.0.1:${server.port}/`)))).toBe('too_large')
  })

  it.each([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
  ] as const)('counts bytes after %s decompression', async (coding, pack) => {
    const bomb = pack(Buffer.alloc(5_000_000))
    const server = await serve((request, response) => {
      const body = request.url === '/bomb' ? bomb : pack('a page')
      response.writeHead(200, { 'content-encoding': coding }).end(body)
    })
    const fetch = createSafeFetch({ allow: [`127.0.0.1:${server.port}`] })
    const url = `http://127.0.0.1:${server.port}`
    expect((await fetch(get(`${url}/page`))).body.toString()).toBe('a page')
    expect(bomb.length).toBeLessThan(100_000)
    expect(await codeOf(fetch(get(`${url}/bomb`, { maxBytes: 200_000 })))).toBe('too_large')
    expect((await fetch(get(`${url}/bomb`, { maxBytes: 200_000, cut: true }))).body).toHaveLength(200_000)
  })

  it('report invalid compression', async () => {
    const server = await serve((request, response) => {
      if (request.url === '/damaged') response.writeHead(200, { 'content-encoding': 'gzip' }).end('not packed')
      else if (request.url === '/strange') response.writeHead(200, { 'content-encoding': 'constructor' }).end('x')
      else response.writeHead(200, { 'content-encoding': 'gzip' }).end()
    })
    const fetch = createSafeFetch({ allow: [`127.0.0.1:${server.port}`] })
    const url = `http://127.0.0.1:${server.port}`
    expect(await codeOf(fetch(get(`${url}/damaged`)))).toBe('network')
    expect(await codeOf(fetch(get(`${url}/strange`)))).toBe('network')
    expect((await fetch(get(`${url}/nothing`))).body).toHaveLength(0)
    expect((await fetch(get(`${url}/nothing`, { method: 'HEAD' }))).body).toHaveLength(0)
  })

  it('truncate an endless body when requested', async () => {
    const server = await serve((_, response) => {
      const more = () => response.write(Buffer.alloc(64 * 1024, 'x'), error => error || more())
      more()
    })
    const fetch = createSafeFetch({ allow: [`127.0.0.1:${server.port}`] })
    const { body } = await fetch(get(`http://127.0.0.1:${server.port}/`, { cut: true }))
    expect(body.toString()).toBe('x'.repeat(1000))
  })

  it('discard unwanted bodies', async () => {
    const server = await serve((_, response) => response.writeHead(200, { 'content-type': 'video/mp4' }).flushHeaders())
    const fetch = createSafeFetch({ allow: [`127.0.0.1:${server.port}`] })
    const wants: FetchRequest['wants'] = ({ status, headers }) =>
      status === 200 && headers['content-type'] === 'text/html'
    const { body, headers } = await fetch(get(`http://127.0.0.1:${server.port}/`, { wants }))
    expect(headers['content-type']).toBe('video/mp4')
    expect(body).toHaveLength(0)
  })

  it('time out for headers and slow bodies', async () => {
    const silent = await serve(() => {})
    const trickle = await serve((_, response) => {
      response.writeHead(200)
      const timer = setInterval(() => response.write('.'), 50)
      response.on('close', () => clearInterval(timer))
    })
    const fetch = createSafeFetch({ allow: [`127.0.0.1:${silent.port}`, `127.0.0.1:${trickle.port}`] })
    expect(await codeOf(fetch(get(`http://127.0.0.1:${silent.port}/`, { timeoutMs: 300 })))).toBe('timeout')
    expect(await codeOf(fetch(get(`http://127.0.0.1:${trickle.port}/`, { timeoutMs: 400 })))).toBe('timeout')
  })

  it('distinguish an abort from a timeout', async () => {
    const silent = await serve(() => {})
    const controller = new AbortController()
    const answer = codeOf(
      createSafeFetch({ allow: [`127.0.0.1:${silent.port}`] })(
        get(`http://127.0.0.1:${silent.port}/`, { signal: controller.signal }),
      ),
    )
    controller.abort()
    expect(await answer).toBe('aborted')
  })

  it('report a refused connection', async () => {
    const { port } = await serve(() => {})
    open.pop()!.close()
    expect(await codeOf(createSafeFetch({ allow: [`127.0.0.1:${port}`] })(get(`http://127.0.0.1:${port}/`)))).toBe(
      'network',
    )
  })
})

describe('addresses of this installation', () => {
  const own = () => new Set(['77.77.77.77', '2a0b:77::77'])
  const refusals: string[] = []
  const egress = {
    refused: (kind: string, address: string, port: number) => void refusals.push(`${kind} ${address} ${port}`),
  }
  const resolve = async () => ['1.1.1.1', '77.77.77.77']

  it.each([
    ['http://77.77.77.77:18080/', 'http 77.77.77.77 18080'],
    ['http://[2a0b:77::77]/', 'http 2a0b:77::77 80'],
    ['http://[::ffff:77.77.77.77]/', 'http ::ffff:4d4d:4d4d 80'],
    ['https://names.example/', 'http 77.77.77.77 443'],
    ['http://10.0.0.1/', 'http 10.0.0.1 80'],
  ])('are not requested: %s', async (url, refusal) => {
    expect(await codeOf(createSafeFetch({ allow: [], own, egress, resolve })(get(url)))).toBe('blocked_address')
    expect(refusals.at(-1)).toBe(refusal)
  })

  it('are requested where the operator allows host and port', async () => {
    const { port } = await serve((_request, response) => response.end('ok'))
    const loopback = () => new Set(['127.0.0.1'])
    const answer = await createSafeFetch({ allow: [`127.0.0.1:${port}`], own: loopback })(
      get(`http://127.0.0.1:${port}/`),
    )
    expect(answer.body.toString()).toBe('ok')
  })
})
