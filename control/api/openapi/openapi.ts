/** Builds the published OpenAPI document from the route declarations and the parts that all operations share. */
import swagger from '@fastify/swagger'
import type { FastifyInstance } from 'fastify'
import { createJsonSchemaTransform, jsonSchemaTransformObject } from 'fastify-type-provider-zod'
import { SESSION_COOKIE } from '../../access/authentication/authenticate.ts'
import type { Deps } from '../../platform/deps.ts'
import { type ProblemCode, problemCodes, problems } from '../../platform/http/problem.ts'
import { NoBody } from '../../platform/http/shapes.ts'
import { webhookDocuments } from '../../webhooks/document.ts'
import { complete, type Document } from './document.ts'

const TAGS = {
  Calls: 'Place calls, follow them while they are live, and read their results.',
  Realtime: 'Voice conversations in apps and web pages over WebRTC.',
  Projects: 'A project is an agent: its prompt, voice, tools, and the data that it extracts from calls.',
  Secrets: 'Write-only values for tools and models, such as API keys.',
  Knowledge: 'Texts, sites and files that the agent of a project searches before it answers.',
  Campaigns: 'Call lists of contacts within calling hours, a pace and a budget.',
  'Lead search': 'Find companies with phone numbers from a plain-text brief, and create a campaign from them.',
  Contacts: 'People that agents have spoken to or will call.',
  'Do-not-call': 'Numbers that are never dialled. The agent adds callers who ask not to be called.',
  Trunks: 'SIP connections to carriers and PBXs.',
  Numbers: 'Phone numbers of the trunks, and the projects that place and answer calls on them.',
  Softphones: 'SIP phones of the account. They call its agents and receive calls from them without a carrier.',
  Account: 'Balance, ledger, limits and audit log.',
  Webhooks: 'Endpoints that receive events, and the log of deliveries.',
  Keys: 'API keys. Only a dashboard session can create them.',
  People: 'People of the account, their roles, and invitations.',
  'Second factor': 'Codes of an app, passkeys and recovery codes of the person who is logged in.',
  Accounts: 'Sign-up, log-in and sessions of the dashboard.',
}

const INTRODUCTION = `Parley places and answers telephone calls with voice agents.

**Authentication.** Send an API key in the \`X-API-Key\` header or as a bearer token. The dashboard uses a session cookie instead.

**Conventions.** JSON in UTF-8, at most 64 levels deep, text without NUL, no member named \`__proto__\`; of two
members with the same name, the last one counts.
Times are RFC 3339 in UTC, ids are UUIDs, phones E.164, money is a decimal string with 4 places. Unknown fields and query
parameters are errors. New fields may be added to responses at any time: ignore the ones you do not know.

**Roles.** Each person of an account has a role, and a key has the role of the person who created it. \`x-roles\` of an
operation lists the roles that may use it.

**Idempotency.** A POST with an \`Idempotency-Key\` runs once in 24 hours. A repeated request gets the same response
with \`Idempotent-Replayed: true\`, without values that are shown only once.

**Rate limit.** Every response states the limit in \`RateLimit-Policy\` and what is left of it in \`RateLimit\`.

**Tool server.** An MCP server at \`/mcp\` offers the same operations as tools. Send the same key as a bearer token.

**Errors** are problem documents (RFC 9457). Branch on \`code\`:

${codesByStatus()}`

/** Lists the codes by status, one line each. Each code links to the page that explains it. */
function codesByStatus(): string {
  const byStatus = Map.groupBy(problemCodes, code => problems[code].status)
  const link = (code: ProblemCode) => `[\`${code}\`](/errors/${code})`
  return [...byStatus]
    .sort(([a], [b]) => a - b)
    .map(([status, codes]) => `- **${status}** ${codes.map(link).join(', ')}`)
    .join('\n')
}

export async function registerOpenApi(app: FastifyInstance, deps: Deps): Promise<void> {
  const transform = createJsonSchemaTransform({})
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Parley',
        summary: 'Self-hosted voice-agent telephony',
        version: '1.0.0',
        description: INTRODUCTION,
        license: { name: 'MIT', identifier: 'MIT' },
      },
      servers: [{ url: deps.config.base_url }],
      tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
      components: {
        securitySchemes: {
          apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key', description: 'An API key, `svc_…`' },
          bearer: { type: 'http', scheme: 'bearer', description: 'The same API key' },
          session: { type: 'apiKey', in: 'cookie', name: SESSION_COOKIE, description: 'A dashboard session' },
        },
      },
    },
    transform(given) {
      // The document leaves out a body that may be empty or missing.
      const { body, ...rest } = given.schema ?? {}
      return transform((body === NoBody ? { ...given, schema: rest } : given) as Parameters<typeof transform>[0])
    },
    transformObject(given) {
      const document = jsonSchemaTransformObject(given) as unknown as Document
      return complete(document, deps.config.base_url, webhookDocuments()) as never
    },
  })
}
