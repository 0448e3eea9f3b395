/**
 * The tool server: MCP over Streamable HTTP, stateless, so that any control process can answer any request. Each tool runs
 * the REST operation of its name; `structuredContent` is that operation's body.
 */
import type { AuthInfo } from '@modelcontextprotocol/sdk/server/auth/types.js'
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js'
import {
  CallToolRequestSchema,
  type CallToolResult,
  ErrorCode,
  ListToolsRequestSchema,
  McpError,
} from '@modelcontextprotocol/sdk/types.js'
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/ajv'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { identify } from '../../access/authentication/authenticate.ts'
import type { Deps } from '../../platform/deps.ts'
import type { Caller } from '../../platform/http/caller.ts'
import { toProblem } from '../../platform/http/errors.ts'
import { Problem } from '../../platform/http/problem.ts'
import { takeToken } from '../../platform/http/rate-limit.ts'
import { errorFields } from '../../platform/log.ts'
import { createTools, type OperationTool } from './tools.ts'

/** For all requests: the SDK would else make one for each, which takes longer than most requests. */
const validator = new AjvJsonSchemaValidator()

const INSTRUCTIONS =
  'Parley places and answers telephone calls with voice agents. A project is an agent. place_call rings a real ' +
  'telephone and costs money: use dry_run first when in doubt, and max_cost to bound it. get_call tells how a call went.'

/** After all routes: its tools are the operations that are there by then. */
export function mcpRoutes(app: FastifyInstance, deps: Deps): void {
  const tools = new Map(createTools(app.operations).map(tool => [tool.operation.id, tool]))
  /** One serves one request at a time and keeps nothing of it; making it takes longer than most requests. */
  const idle: Server[] = []
  const url = new URL('/mcp', deps.config.base_url).href
  app.route({
    method: ['POST', 'GET', 'DELETE'],
    url: '/mcp',
    schema: { hide: true },
    onRequest: async (request, reply) => {
      assertOrigin(deps, request)
      const caller = await identify(deps, request, reply)
      if (caller.keyId === null) throw new Problem('unauthorized', { detail: 'The tool server takes an API key.' })
      request.caller = caller
    },
    handler: async (request, reply) => {
      // Without sessions there is nothing to listen to and nothing to end.
      if (request.method !== 'POST') return reply.header('Allow', 'POST').code(405).send()
      // A batch is one request to HTTP; to whom it costs work it is as many as it has messages.
      const more = Array.isArray(request.body) ? request.body.length - 1 : 0
      for (let i = 0; i < more; i++) await takeToken(deps, reply, 'key', request.caller!.keyId!)
      const server = idle.pop() ?? createServer(deps, tools)
      const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true })
      await server.connect(transport)
      try {
        const options = { parsedBody: request.body, authInfo: authInfoOf(request) }
        const answer = await transport.handleRequest(asWebRequest(url, request), options)
        const headers = Object.fromEntries(answer.headers)
        const text = await answer.text()
        return reply.code(answer.status).headers(headers).send(text)
      } finally {
        // A little later: what the SDK takes for still under way it aborts, which costs more than the request.
        setImmediate(() => {
          server.close().then(
            () => idle.push(server),
            () => {}, // one that cannot be closed is not lent again
          )
        })
      }
    },
  })
}

/** A page elsewhere must not reach a server on its visitor's own machine by a name that it points there. */
function assertOrigin(deps: Deps, request: FastifyRequest): void {
  const { origin } = request.headers
  if (origin !== undefined && origin !== new URL(deps.config.base_url).origin) throw new Problem('cross_site')
}

/** Which headers the transport reads. */
const READ = ['accept', 'content-type', 'mcp-protocol-version', 'mcp-session-id'] as const

function asWebRequest(url: string, { method, headers: given }: FastifyRequest): Request {
  const headers = new Headers()
  for (const name of READ) {
    const value = given[name]
    if (typeof value === 'string') headers.set(name, value)
  }
  return new Request(url, { method, headers })
}

/** The way of the SDK to a handler: who asks, and by which request. */
function authInfoOf(request: FastifyRequest): AuthInfo {
  const { keyId, scopes } = request.caller!
  return { token: '', clientId: keyId!, scopes: [...scopes], extra: { request } }
}
const askerOf = ({ authInfo }: { authInfo?: AuthInfo }) => {
  const request = authInfo!.extra!['request'] as FastifyRequest
  return { request, caller: request.caller! }
}
const mayUse = (caller: Caller, { operation }: OperationTool) => (caller.scopes as string[]).includes(operation.scope)

function createServer(deps: Deps, tools: Map<string, OperationTool>): Server {
  const server = new Server(
    { name: 'parley', title: 'Parley', version: '1.0.0' },
    { capabilities: { tools: {} }, instructions: INSTRUCTIONS, jsonSchemaValidator: validator },
  )
  server.setRequestHandler(ListToolsRequestSchema, async (_, extra) => {
    const { caller } = askerOf(extra)
    return { tools: [...tools.values()].filter(tool => mayUse(caller, tool)).map(({ tool }) => tool) }
  })
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, extra): Promise<CallToolResult> => {
    const { caller, request } = askerOf(extra)
    const tool = tools.get(params.name)
    if (!tool) throw new McpError(ErrorCode.InvalidParams, `There is no tool ${params.name}`)
    try {
      if (!mayUse(caller, tool)) {
        throw new Problem('insufficient_scope', { detail: `This needs the scope ${tool.operation.scope}.` })
      }
      return await run(tool, caller, params.arguments ?? {}, request)
    } catch (error) {
      const problem = toProblem(error)
      if (problem.status >= 500) {
        deps.log.error({ request_id: request.id, error: errorFields(problem.cause ?? problem) }, 'tool failed')
      }
      return failed(problem.toDocument(deps.config.base_url, request.id))
    }
  })
  return server
}

async function run(
  { operation, parse }: OperationTool,
  caller: Caller,
  args: Record<string, unknown>,
  { id: requestId, ip: address, span }: Pick<FastifyRequest, 'id' | 'ip' | 'span'>,
): Promise<CallToolResult> {
  const { input, extras, idempotencyKey } = parse(args)
  const { status, body, replayed } = await operation.run(caller, input, {
    ...{ extras, idempotencyKey, requestId, address },
    ...{ door: 'mcp', traceparent: span?.traceparent ?? null },
  })
  if (status >= 400) return failed(body)
  // As REST serialises it: fields that are not published do not leave here either. A replay is what was answered then.
  const shape = operation.extraAnswer ? z.union([operation.answer, operation.extraAnswer]) : operation.answer
  const answer = (replayed ? body : z.encode(shape, body)) as Record<string, unknown>
  return { content: [{ type: 'text', text: JSON.stringify(answer) }], structuredContent: answer }
}

/** The problem document as text: `structuredContent` would have to fit the output schema. */
const failed = (problem: unknown): CallToolResult => ({
  isError: true,
  content: [{ type: 'text', text: JSON.stringify(problem) }],
})
