/** The API reference at `/docs`. It loads nothing from other hosts. */
import swaggerUi from '@fastify/swagger-ui'
import type { FastifyInstance } from 'fastify'

/**
 * Swagger UI uses inline styles and data URLs. The policy does not upgrade to HTTPS: a private network may have none.
 */
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

/** Call after the document is registered. */
export async function registerReference(app: FastifyInstance): Promise<void> {
  await app.register(swaggerUi, {
    routePrefix: '/docs',
    theme: {
      title: 'Parley API',
      // Hides Swagger UI's own bar: there is only one document.
      css: [{ filename: 'parley.css', content: '.swagger-ui .topbar { display: none }' }],
    },
    staticCSP: POLICY,
    uiConfig: {
      deepLinking: true,
      docExpansion: 'none',
      defaultModelsExpandDepth: 0,
      displayRequestDuration: true,
      // The default sends the document to a host of Swagger's makers.
      validatorUrl: null,
    },
  })
}
