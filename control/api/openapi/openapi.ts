/** The published document: what routes declare, completed by what is true of all of them. */
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
  Calls: 'Place calls, follow them while they are live, and read what came of them.',
  Realtime: 'Voice dialogues in apps and on pages, over WebRTC.',
  Projects: 'A project is an agent: its prompt, voice, tools and what it shall find out.',
  Secrets: 'Values that tools and models need and nobody may read back.',
  Knowledge: 'Texts, sites and files of a project: what its agent looks up before it answers.',
  Campaigns: 'Lists of contacts that are called at the right hour, at the right pace, and within the money.',
  'Lead search': 'From a brief in plain words to companies with telephone numbers, and on to a campaign.',
  Contacts: 'Everybody an agent has spoken to or shall speak to.',
  'Do-not-call': 'Numbers that are never dialled; who asks an agent not to be called is listed by it.',
  Trunks: 'SIP connections to carriers and PBXs.',
  Numbers: 'The numbers of the trunks, and which project makes and takes calls on them.',
  Softphones: 'SIP telephones of the account: to talk to its agents, and to be called by them, without a carrier.',
  Account: 'Balance and its movements.',
  Webhooks: 'Where events are delivered, and the log of deliveries.',
  Keys: 'API keys; made in a dashboard session only.',
  Accounts: 'Sign-up, log-in and sessions of the dashboard.',
}

const INTRODUCTION = `Parley places and answers telephone calls with voice agents.

**Authentication.** Send an API key as \`X-API-Key\` or as a bearer token. The dashboard uses a session cookie instead.

**Conventions.** JSON in UTF-8, at most 64 levels deep, text without NUL, no member named \`__proto__\`; of two
members with one name the last counts.
Times are RFC 3339 in UTC, ids are UUIDs, phones E.164, money is a decimal string with 4 places. Unknown fields and query
parameters are errors. Fields may be added to answers at any time: ignore those you do not know.

**Idempotency.** A POST with an \`Idempotency-Key\` is carried out once in 24 hours; the same request again gets the same
answer, with \`Idempotent-Replayed: true\`, without what was shown once.

**Rate limit.** Every answer tells the limit by \`RateLimit-Policy\` and what is left of it by \`RateLimit\`.

**Tool server.** The same operations are tools of an MCP server at \`/mcp\`, with the same key as bearer token.

**Errors** are problem documents (RFC 9457). Decide by \`code\`:

${codesByStatus()}`

/** A line for each status: what each code means stands behind its link. */
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
          session: { type: 'apiKey', in: 'cookie', name: SESSION_COOKIE, description: 'A session of the dashboard' },
        },
      },
    },
    transform(given) {
      // What may be empty or left out needs no mention.
      const { body, ...rest } = given.schema ?? {}
      return transform((body === NoBody ? { ...given, schema: rest } : given) as Parameters<typeof transform>[0])
    },
    transformObject(given) {
      const document = jsonSchemaTransformObject(given) as unknown as Document
      return complete(document, deps.config.base_url, webhookDocuments()) as never
    },
  })
}
