/**
 * The MCP server over Streamable HTTP. It is stateless, so that any control process can answer any request. Each tool
 * runs the REST operation of the same name; `structuredContent` is that operation's response body.
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
import { assertRole } from '../../access/permissions/authorize.ts'
import { concernsProjects } from '../../access/permissions/projects.ts'
import { mayUse as roleMayUse } from '../../access/permissions/table.ts'
import type { Deps } from '../../platform/deps.ts'
import type { Caller } from '../../platform/http/caller.ts'
import { toProblem } from '../../platform/http/errors.ts'
import { Problem } from '../../platform/http/problem.ts'
import { takeToken } from '../../platform/http/rate-limit.ts'
import { errorFields } from '../../platform/log.ts'
import { createTools, type OperationTool } from './tools.ts'

/** Shared by all requests: the SDK would otherwise create one for each, which takes longer than most requests. */
const validator = new AjvJsonSchemaValidator()

const INSTRUCTIONS =
  'Parley places and answers telephone calls with voice agents. A project is an agent. place_call calls a real ' +
  'phone and costs money: if in doubt, use dry_run first, and set max_cost to limit the price. get_call returns the result of a call.'

/** Register after all other routes: each operation that exists by then becomes a tool. */
export function mcpRoutes(app: FastifyInstance, deps: Deps): void {
  const tools = new Map(createTools(app.operations).map(tool => [tool.operation.id, tool]))
  /**
   * Pool of servers. Each serves one request at a time and keeps no state; creating one takes longer than most
   * requests.
   */
  const idle: Server[] = []
  const url = new URL('/mcp', deps.config.base_url).href
  app.route({
    method: ['POST', 'GET', 'DELETE'],
    url: '/mcp',
    schema: { hide: true },
    onRequest: async (request, reply) => {
      assertOrigin(deps, request)
      const caller = await identify(deps, request, reply)
      if (caller.keyId === null) throw new Problem('unauthorized', { detail: 'The MCP server requires an API key.' })
      request.caller = caller
    },
    handler: async (request, reply) => {
      // Without sessions there is no stream to open and none to end.
      if (request.method !== 'POST') return reply.header('Allow', 'POST').code(405).send()
      // A batch is one HTTP request, but each of its messages takes a rate token.
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
        // Closes later: the SDK aborts what it takes for still in progress, which costs more than the request.
        setImmediate(() => {
          server.close().then(
            () => idle.push(server),
            () => {}, // a server that fails to close is not reused
          )
        })
      }
    },
  })
}

/** Protects against DNS rebinding: a foreign page must not reach a server on its visitor's machine. */
function assertOrigin(deps: Deps, request: FastifyRequest): void {
  const { origin } = request.headers
  if (origin !== undefined && origin !== new URL(deps.config.base_url).origin) throw new Problem('cross_site')
}

/** Headers that the transport reads. */
const READ = ['accept', 'content-type', 'mcp-protocol-version', 'mcp-session-id'] as const

function asWebRequest(url: string, { method, headers: given }: FastifyRequest): Request {
  const headers = new Headers()
  for (const name of READ) {
    const value = given[name]
    if (typeof value === 'string') headers.set(name, value)
  }
  return new Request(url, { method, headers })
}

/** Passes the client and the request through the SDK to the handlers. */
function authInfoOf(request: FastifyRequest): AuthInfo {
  const { keyId, scopes } = request.caller!
  return { token: '', clientId: keyId!, scopes: [...scopes], extra: { request } }
}
const clientOf = ({ authInfo }: { authInfo?: AuthInfo }) => {
  const request = authInfo!.extra!['request'] as FastifyRequest
  return { request, caller: request.caller! }
}
const hasScope = (caller: Caller, { operation }: OperationTool) => (caller.scopes as string[]).includes(operation.scope)
const mayUse = (caller: Caller, tool: OperationTool) =>
  hasScope(caller, tool) &&
  roleMayUse(caller.role, tool.operation.id) &&
  (caller.projects === null || concernsProjects(tool.operation.id))

function createServer(deps: Deps, tools: Map<string, OperationTool>): Server {
  const server = new Server(
    { name: 'parley', title: 'Parley', version: '1.0.0' },
    { capabilities: { tools: {} }, instructions: INSTRUCTIONS, jsonSchemaValidator: validator },
  )
  server.setRequestHandler(ListToolsRequestSchema, async (_, extra) => {
    const { caller } = clientOf(extra)
    return { tools: [...tools.values()].filter(tool => mayUse(caller, tool)).map(({ tool }) => tool) }
  })
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, extra): Promise<CallToolResult> => {
    const { caller, request } = clientOf(extra)
    const tool = tools.get(params.name)
    if (!tool) throw new McpError(ErrorCode.InvalidParams, `Unknown tool: ${params.name}`)
    try {
      if (!hasScope(caller, tool)) {
        throw new Problem('insufficient_scope', { detail: `This operation needs the scope ${tool.operation.scope}.` })
      }
      assertRole(caller, tool.operation.id)
      return await run(tool, caller, params.arguments ?? {}, request)
    } catch (error) {
      const problem = toProblem(error)
      if (problem.status >= 500) {
        deps.log.error({ request_id: request.id, error: errorFields(problem.cause ?? problem) }, 'MCP tool failed')
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
    extras,
    idempotencyKey,
    requestId,
    address,
    channel: 'mcp',
    traceparent: span?.traceparent ?? null,
  })
  if (status >= 400) return failed(body)
  // Serialise as REST does: unpublished fields stay private. A replay already has this form.
  const shape = operation.extraAnswer ? z.union([operation.answer, operation.extraAnswer]) : operation.answer
  const answer = (replayed ? body : z.encode(shape, body)) as Record<string, unknown>
  return { content: [{ type: 'text', text: JSON.stringify(answer) }], structuredContent: answer }
}

/** Returns the problem document as text: `structuredContent` would have to match the output schema. */
const failed = (problem: unknown): CallToolResult => ({
  isError: true,
  content: [{ type: 'text', text: JSON.stringify(problem) }],
})
