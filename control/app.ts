/** Composes control: the HTTP app, and the jobs, bus handlers and sweeps. */
import cookie from '@fastify/cookie'
import helmet from '@fastify/helmet'
import Fastify, { type FastifyInstance } from 'fastify'
import { serializerCompiler } from 'fastify-type-provider-zod'
import { accountRoutes } from './access/accounts/routes.ts'
import { auditRoutes } from './access/audit/routes.ts'
import { createAuditLog } from './access/audit/service.ts'
import { createAuthenticator } from './access/authentication/authenticate.ts'
import { keyRoutes } from './access/keys/routes.ts'
import { authRoutes } from './access/login/routes.ts'
import { secondFactorRoutes } from './access/login/second-factor-routes.ts'
import { peopleRoutes } from './access/people/routes.ts'
import { sessionRoutes } from './access/sessions/routes.ts'
import { projectRoutes, secretRoutes } from './agents/projects/routes.ts'
import { mcpRoutes } from './api/mcp/routes.ts'
import { registerOpenApi } from './api/openapi/openapi.ts'
import { registerReference } from './api/openapi/reference.ts'
import { registerPages } from './api/pages.ts'
import { askHandlers, createReaper, handleEvent, sweepOld, sweepOverdue } from './background/engine.ts'
import { balanceRoutes } from './billing/balance/routes.ts'
import { limitRoutes } from './billing/limits/routes.ts'
import { watchSpending } from './billing/unusual/service.ts'
import { dashboardRoutes } from './dashboard/routes.ts'
import { eraseClosed } from './data/accounts/closed.ts'
import { erasureRoutes } from './data/erasure/routes.ts'
import { eraseCall } from './data/erasure/service.ts'
import { retentionRoutes } from './data/retention/routes.ts'
import { sweepRetention } from './data/retention/service.ts'
import type { Deps } from './deps.ts'
import { createIndexer } from './knowledge/indexing.ts'
import { knowledgeRoutes } from './knowledge/routes.ts'
import { deleteContent, sweepKnowledge } from './knowledge/service.ts'
import { LEDGER_MS, STATE_MS, watchLedger, watchWork } from './metrics/state.ts'
import { createCampaignDialer } from './outreach/campaigns/dialer.ts'
import { startPacer } from './outreach/campaigns/pacer.ts'
import { campaignRoutes } from './outreach/campaigns/routes.ts'
import { createSearcher } from './outreach/leads/job.ts'
import { leadRoutes } from './outreach/leads/routes.ts'
import { termsPage } from './outreach/leads/terms.ts'
import { clientErrorHandler, errorHandler, sendProblem, toProblem, validatorCompiler } from './platform/http/errors.ts'
import { endStreams } from './platform/http/event-stream.ts'
import { registerHealth } from './platform/http/health.ts'
import { readJson } from './platform/http/json.ts'
import { collectMethods } from './platform/http/methods.ts'
import { Problem } from './platform/http/problem.ts'
import { takeToken } from './platform/http/rate-limit.ts'
import { traceRequests } from './platform/http/tracing.ts'
import { uuidv7 } from './platform/ids.ts'
import { backgroundDone } from './platform/jobs/background.ts'
import { every } from './platform/jobs/every.ts'
import { startWorkers } from './platform/jobs/jobs.ts'
import { rethrowBare } from './platform/log.ts'
import { createDialer } from './telephony/calls/dialer.ts'
import { callRoutes } from './telephony/calls/routes.ts'
import { contactRoutes } from './telephony/contacts/routes.ts'
import { doNotCallRoutes } from './telephony/do-not-call/routes.ts'
import { numberVerificationRoutes } from './telephony/number-verification/routes.ts'
import { numberRoutes } from './telephony/numbers/routes.ts'
import { createRoomSweep } from './telephony/realtime/reconcile.ts'
import { realtimeRoutes } from './telephony/realtime/routes.ts'
import { livekitWebhook } from './telephony/realtime/webhook.ts'
import { softphoneRoutes } from './telephony/softphones/routes.ts'
import { publishSoftphone, publishSoftphones } from './telephony/softphones/service.ts'
import { trunkRoutes } from './telephony/trunks/routes.ts'
import { publishTrunks } from './telephony/trunks/service.ts'
import { deliver } from './webhooks/deliver.ts'
import { webhookRoutes } from './webhooks/routes.ts'
import { tellStopped } from './webhooks/stopped.ts'

const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/

/** The caller listens and closes; ports stay the caller's. */
export async function buildApp(deps: Deps): Promise<FastifyInstance> {
  const app = Fastify({
    bodyLimit: deps.config.body_limit,
    trustProxy: deps.config.trust_proxy,
    // health.ts sends a problem document instead.
    return503OnClosing: false,
    // Paths are exact: `/calls/` is not `/calls`.
    routerOptions: { ignoreTrailingSlash: false },
    genReqId: request => {
      const given = request.headers['x-request-id']
      return typeof given === 'string' && REQUEST_ID.test(given) ? given : uuidv7(deps.clock.wall())
    },
    clientErrorHandler: clientErrorHandler(deps) as never,
    frameworkErrors: (error, request, reply) => void sendProblem(deps, request, reply, toProblem(error)),
  })
  app.setValidatorCompiler(validatorCompiler as never)
  app.setSerializerCompiler(serializerCompiler)
  app.setErrorHandler(errorHandler(deps))
  app.setNotFoundHandler(async (request, reply) => {
    await takeToken(deps, reply, 'address', request.ip)
    throw new Problem('route_not_found')
  })
  readJson(app)
  app.decorateRequest('caller', null)
  app.decorate('operations', [])
  app.decorate('authenticator', createAuthenticator(deps))
  app.decorate('auditLog', createAuditLog(deps))
  app.addHook('onRequest', async (request, reply) => void reply.header('X-Request-Id', request.id))
  traceRequests(app, deps)
  await registerHealth(app, deps)
  app.addHook('preClose', async () => endStreams(deps))
  logRequests(app, deps)
  await app.register(helmet)
  await app.register(cookie)
  await registerOpenApi(app, deps)
  await registerReference(app)
  await app.register(async scope => {
    const closeGaps = collectMethods(scope, deps)
    registerPages(scope, deps)
    termsPage(scope)
    await dashboardRoutes(scope, deps)
    ownRoutes(scope, deps)
    projectRoutes(scope, deps)
    secretRoutes(scope, deps)
    await knowledgeRoutes(scope, deps)
    trunkRoutes(scope, deps)
    softphoneRoutes(scope, deps)
    numberRoutes(scope, deps)
    numberVerificationRoutes(scope, deps)
    callRoutes(scope, deps, eraseCall)
    realtimeRoutes(scope, deps)
    contactRoutes(scope, deps)
    campaignRoutes(scope, deps)
    await leadRoutes(scope, deps)
    doNotCallRoutes(scope, deps)
    webhookRoutes(scope, deps)
    mcpRoutes(scope, deps) // a tool for each operation registered before
    await livekitWebhook(scope, deps)
    closeGaps()
  })
  await app.ready()
  return app
}

/** Routes of the account itself. */
function ownRoutes(scope: FastifyInstance, deps: Deps): void {
  authRoutes(scope, deps)
  accountRoutes(scope, deps)
  sessionRoutes(scope, deps)
  peopleRoutes(scope, deps)
  secondFactorRoutes(scope, deps)
  keyRoutes(scope, deps)
  balanceRoutes(scope, deps)
  limitRoutes(scope, deps)
  retentionRoutes(scope, deps)
  erasureRoutes(scope, deps)
  auditRoutes(scope, deps)
}

/** Logs routes, not URLs, which contain phone numbers. */
function logRequests(app: FastifyInstance, deps: Deps): void {
  app.addHook('onResponse', async (request, reply) => {
    const status = `${Math.floor(reply.statusCode / 100)}xx`
    deps.meters?.requests.observe({ status }, reply.elapsedTime / 1000)
    deps.log.info(
      {
        request_id: request.id,
        method: request.method,
        route: request.routeOptions.url ?? null,
        status: reply.statusCode,
        ms: Math.round(reply.elapsedTime),
        key_id: request.caller?.keyId ?? null,
      },
      'request',
    )
  })
}

const MINUTE_MS = 60 * 1000
const HOUR_MS = 60 * MINUTE_MS
const LEASE_SWEEP_FACTOR = 5

export interface Control {
  stop(): Promise<void>
}

/** Runs only when metrics are collected. */
function watchState(deps: Deps) {
  const meters = deps.meters?.state
  if (!meters) return []
  return [
    every(deps, STATE_MS, 'state', () => watchWork(deps, meters)),
    every(deps, LEDGER_MS, 'ledger', () => watchLedger(deps, meters)),
  ]
}

/** Starts everything that happens without a request. The caller has started PgBoss and installed its queues. */
export async function startControl(deps: Deps): Promise<Control> {
  await publishTrunks(deps)
  await publishSoftphones(deps)
  const reaper = createReaper(deps)
  const dialer = createDialer(deps)
  const campaigns = createCampaignDialer(deps)
  const rooms = createRoomSweep(deps)
  const indexer = createIndexer(deps)
  const searcher = createSearcher(deps)
  const workers = await startWorkers(deps, {
    'call.place': data => dialer.offer(data.call_id),
    'campaign.place': data => campaigns.offer(data.call_ids),
    'webhook.deliver': data => deliver(deps, data),
    'trunks.publish': async () => void (await publishTrunks(deps)),
    'softphone.publish': data => publishSoftphone(deps, data),
    'knowledge.index': data => indexer.run(data),
    'knowledge.long': data => indexer.run(data),
    'knowledge.forget': ({ keys }) => deleteContent(deps, keys),
    'leads.search': data => searcher.run(data),
    'account.erase': data => eraseClosed(deps, data),
    'account.stopped': data => tellStopped(deps, data),
  })
  const running = [
    deps.bus.onEvents(event => handleEvent(deps, event).catch(rethrowBare)),
    deps.bus.onRequests(askHandlers(deps)),
    every(deps, deps.config.sweep_ms, 'overdue', () => sweepOverdue(deps)),
    every(deps, deps.config.sweep_ms * LEASE_SWEEP_FACTOR, 'leases', () => reaper.sweep()),
    every(deps, deps.config.room_sweep_ms, 'rooms', () => rooms.sweep()),
    every(deps, HOUR_MS, 'old', () => sweepOld(deps)),
    every(deps, HOUR_MS, 'retention', () => sweepRetention(deps)),
    every(deps, HOUR_MS, 'knowledge', () => sweepKnowledge(deps)),
    every(deps, HOUR_MS, 'vectors', () => indexer.refresh()),
    every(deps, MINUTE_MS, 'events', () => deps.bus.trim()),
    every(deps, MINUTE_MS, 'spending', () => watchSpending(deps)),
    ...watchState(deps),
    startPacer(deps),
  ]
  return {
    async stop() {
      indexer.stop()
      searcher.stop()
      await Promise.all(running.map(part => part.stop()))
      await workers.stop()
      await dialer.stop()
      await campaigns.stop()
      await backgroundDone(deps)
    },
  }
}
