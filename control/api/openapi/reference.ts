/** The reference page at `/docs`; nothing of it comes from another host. */
import swaggerUi from '@fastify/swagger-ui'
import type { FastifyInstance } from 'fastify'

/** Swagger UI sets styles in elements and draws with data URLs. No upgrade to https: an own network may have none. */
const POLICY = {
  'default-src': ["'none'"],
  'base-uri': ["'none'"],
  'connect-src': ["'self'"],
  'font-src': ["'self'", 'data:'],
  'form-action': ["'none'"],
  'frame-ancestors': ["'none'"],
  'img-src': ["'self'", 'data:'],
  'script-src': ["'self'"],
  'style-src': ["'self'", "'unsafe-inline'"],
}

/** After the document is registered. */
export async function registerReference(app: FastifyInstance): Promise<void> {
  await app.register(swaggerUi, {
    routePrefix: '/docs',
    theme: {
      title: 'Parley API',
      // Without the bar of its makers: there is one document, and it is ours.
      css: [{ filename: 'parley.css', content: '.swagger-ui .topbar { display: none }' }],
    },
    staticCSP: POLICY,
    uiConfig: {
      deepLinking: true,
      docExpansion: 'none',
      defaultModelsExpandDepth: 0,
      displayRequestDuration: true,
      // Its default sends the document to a host of its makers.
      validatorUrl: null,
    },
  })
}
