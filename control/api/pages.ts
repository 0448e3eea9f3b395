/** Pages outside the API: the welcome page, the OpenAPI document, and a page for every error code. */
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { Deps } from '../platform/deps.ts'
import { Problem, type ProblemCode, problems } from '../platform/http/problem.ts'

const escapeHtml = (text: string) => text.replace(/[&<>"']/g, char => `&#${char.charCodeAt(0)};`)

const STYLE =
  'body{font:16px/1.5 system-ui,sans-serif;max-width:44rem;margin:3rem auto;padding:0 1rem;color:#1a1a1a}' +
  'code,pre{font:14px/1.5 ui-monospace,monospace;background:#f3f3f3;border-radius:4px}' +
  'code{padding:1px 4px}pre{padding:1rem;overflow:auto}pre code{padding:0}li{margin:.4rem 0}a{color:#0b57d0}'

function page(title: string, body: string): string {
  const head = `<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escapeHtml(title)}</title>`
  return `<!doctype html><html lang="en"><head>${head}<style>${STYLE}</style></head><body>${body}</body></html>`
}

const welcome = (baseUrl: string) => `<h1>Parley</h1>
<p>Voice agents on the telephone: they place and answer calls, talk to people, use your tools and report the results.
This is the control plane of your own installation, and it is running.</p>
<ul>
<li><a href="/dashboard">Dashboard</a>: sign up, talk to an agent, connect a trunk, watch campaigns</li>
<li><a href="/docs">API reference</a>: every operation, with examples</li>
<li><a href="/openapi.json">OpenAPI document</a>: for generators and clients</li>
<li><code>${baseUrl}/mcp</code>: MCP server for AI clients (Streamable HTTP); send an API key as the bearer token</li>
<li><a href="/errors">Error codes</a>: the meaning of each code</li>
<li><a href="/healthz">Liveness</a> and <a href="/readyz">readiness</a> of this process, for monitoring</li>
</ul>
<h2>Place a first call</h2>
<p>You need an API key, and a project with a bound number:</p>
<pre><code>curl ${baseUrl}/v1/public/calls \\
  -H 'X-API-Key: svc_…' -H 'Content-Type: application/json' \\
  -d '{"project_id": "…", "phone": "+14155550123"}'</code></pre>`

export function registerPages(app: FastifyInstance, deps: Pick<Deps, 'config'>): void {
  const first = page('Parley', welcome(escapeHtml(deps.config.base_url)))
  app.get('/', { schema: { hide: true } }, async (_, reply) => reply.type('text/html; charset=utf-8').send(first))

  let document: string | undefined
  app.get('/openapi.json', { schema: { hide: true } }, async (_, reply) => {
    document ??= JSON.stringify(app.swagger())
    return reply.type('application/json; charset=utf-8').send(document)
  })

  app.get('/errors', { schema: { hide: true } }, async (_, reply) => {
    const items = Object.entries(problems).map(
      ([code, meaning]) =>
        `<li><a href="/errors/${code}">${code}</a> (${meaning.status}): ${escapeHtml(meaning.title)}</li>`,
    )
    return reply.type('text/html; charset=utf-8').send(page('Errors', `<h1>Errors</h1><ul>${items.join('')}</ul>`))
  })

  app.get(
    '/errors/:code',
    { schema: { hide: true, params: z.object({ code: z.string() }) } },
    async (request, reply) => {
      const { code } = request.params as { code: string }
      if (!Object.hasOwn(problems, code)) throw new Problem('route_not_found')
      const { status, title, help } = problems[code as ProblemCode]
      const body = `<h1>${code}</h1><p>HTTP ${status}. ${escapeHtml(title)}.</p><p>${escapeHtml(help)}</p>`
      return reply.type('text/html; charset=utf-8').send(page(code, body))
    },
  )
}
