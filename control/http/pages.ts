/** Addresses outside the API: the document, health, and a page for every error code. */
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { Problem, type ProblemCode, problems } from './problem.ts'

const escapeHtml = (text: string) => text.replace(/[&<>"']/g, char => `&#${char.charCodeAt(0)};`)

function page(title: string, body: string): string {
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${escapeHtml(title)}</title></head><body>${body}</body></html>`
}

export function registerPages(app: FastifyInstance): void {
  app.get('/', { schema: { hide: true } }, async (_, reply) =>
    reply
      .type('text/html; charset=utf-8')
      .send(
        page(
          'Parley',
          '<h1>Parley</h1><p>This control plane is up. There is no dashboard yet; the same is in the REST API.</p>' +
            '<ul><li><a href="/openapi.json">OpenAPI document</a></li><li><a href="/errors">Error codes</a></li>' +
            '<li><a href="/readyz">Health</a></li></ul>',
        ),
      ),
  )

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
