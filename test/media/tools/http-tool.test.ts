import { describe, expect, it } from 'vitest'
import type { ToolPlan } from '../../../media/contract/plan.ts'
import { FetchError, type FetchErrorCode, type FetchRequest, type FetchResponse } from '../../../media/shared/fetch.ts'
import { buildRequest, runTool } from '../../../media/tools/http-tool.ts'

const tool = (changes: Partial<ToolPlan> = {}): ToolPlan => ({
  name: 'order',
  description: 'An order',
  method: 'GET',
  url: 'https://api.example/orders/{id}',
  parameters: {
    type: 'object',
    properties: { id: { type: 'string' }, note: { type: 'string' }, count: { type: 'integer', minimum: 1 } },
    required: ['id'],
  },
  filler: [],
  timeout_ms: 4000,
  ...changes,
})
const { signal } = new AbortController()
const build = (changes: Partial<ToolPlan>, args: Record<string, unknown>, headers = {}) =>
  buildRequest(tool(changes), args, headers, signal) as FetchRequest
const answer = (body: string, type = 'application/json', status = 200): FetchResponse => ({
  status,
  headers: { 'content-type': type },
  body: Buffer.from(body),
  url: 'https://api.example/',
})
const run = (response: FetchResponse | FetchErrorCode) =>
  runTool(
    tool(),
    { id: 'a' },
    {},
    async () => {
      if (typeof response === 'string') throw new FetchError(response, 'no')
      return response
    },
    signal,
  )

describe('a request', () => {
  it('encodes parameters into the path and sends the rest as query', () => {
    const request = build({}, { id: 'a/b?c=d&e', note: 'two words', count: 3 }, { 'X-Key': 'k' })
    expect(request.url).toBe('https://api.example/orders/a%2Fb%3Fc%3Dd%26e?note=two+words&count=3')
    expect(request).toMatchObject({ method: 'GET', body: null, timeoutMs: 4000, headers: { 'X-Key': 'k' } })
  })

  it('of a POST sends the rest as JSON', () => {
    const request = build({ method: 'POST' }, { id: 'a', note: 'x', count: 2 })
    expect(request.url).toBe('https://api.example/orders/a')
    expect(JSON.parse(request.body!)).toEqual({ note: 'x', count: 2 })
    expect(request.headers['content-type']).toBe('application/json')
  })

  it('keeps the host whatever the parameters', () => {
    expect(build({ url: 'https://{id}.example/' }, { id: 'evil.test/#' })).toMatchObject({
      problem: expect.any(String),
    })
    expect(build({ url: 'https://api.example{id}/' }, { id: '.evil.test' })).toMatchObject({
      problem: expect.any(String),
    })
    expect(build({}, { id: '../../../admin' }).url).toBe('https://api.example/orders/..%2F..%2F..%2Fadmin')
  })

  it('reports the invalid argument to the model', () => {
    expect(build({}, { note: 'x' })).toMatchObject({ problem: expect.stringContaining('id') })
    expect(build({}, { id: 'a', count: 0 })).toMatchObject({ problem: expect.stringContaining('count') })
    expect(build({}, { id: 'a', count: 'many' })).toMatchObject({ problem: expect.stringContaining('count') })
  })

  it('accepts spoken times and dates: format only annotates', () => {
    const parameters = { type: 'object', properties: { t: { type: 'string', format: 'time' } }, required: ['t'] }
    expect(build({ parameters, url: 'https://api.example/x' }, { t: '19:30' }).url).toContain('t=19%3A30')
  })
})

describe('an answer', () => {
  it('of JSON is compacted and truncated', async () => {
    expect(await run(answer('{ "a":  1 }'))).toEqual({ status: 'ok', http_status: 200, result: '{"a":1}' })
    expect((await run(answer(JSON.stringify('x'.repeat(9000))))).result.length).toBeLessThanOrEqual(4097)
  })

  it('that is HTML is not passed on', async () => {
    for (const page of [
      answer('<html>hi</html>', 'text/html; charset=utf-8'),
      answer('<!DOCTYPE html><p>', 'text/plain'),
    ]) {
      const outcome = await run(page)
      expect(outcome).toMatchObject({ status: 'http_error' })
      expect(outcome.result).not.toContain('<')
    }
  })

  it('with an error status reports status and body', async () => {
    expect(await run(answer('{"error":"sold out"}', 'application/json', 409))).toMatchObject({
      status: 'http_error',
      http_status: 409,
      result: expect.stringContaining('sold out'),
    })
  })

  it.each([
    ['timeout', 'timeout'],
    ['blocked_address', 'blocked'],
    ['too_large', 'too_large'],
    ['network', 'network_error'],
    ['aborted', 'aborted'],
    ['too_many_redirects', 'blocked'],
    ['bad_url', 'blocked'],
  ] as const)('that fails with %s has a status and a message without an address', async (code, status) => {
    const outcome = await run(code)
    expect(outcome.status).toBe(status)
    expect(outcome.result).not.toMatch(/https?:|example/)
  })
})
