/** Identifies the client: a program by its key, or a person at the dashboard by a session. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Deps } from '../../platform/deps.ts'
import {
  type Authenticator,
  type Caller,
  type RequiredCredential,
  type Role,
  scopes,
} from '../../platform/http/caller.ts'
import { Problem } from '../../platform/http/problem.ts'
import { takeToken } from '../../platform/http/rate-limit.ts'
import { verifyKey } from '../keys/service.ts'
import { assertRole } from '../permissions/authorize.ts'
import { assertSecondFactor } from '../permissions/fresh.ts'
import { assertConcernsProjects, assertProject } from '../permissions/projects.ts'
import { mayUse } from '../permissions/table.ts'
import { type SessionRow, usedFrom, verifySession } from '../sessions/sessions.ts'

export const createAuthenticator = (deps: Deps): Authenticator => ({
  authenticate: (operation, request, reply) => authenticate(deps, operation, request, reply),
  assertProject: (caller, operation, request) => assertProject(deps.sql, caller, operation, request),
  isStillValid: request => isStillValid(deps, request),
})

async function authenticate(
  deps: Deps,
  { id, scope: reach }: { id: string; scope: RequiredCredential },
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<Caller> {
  const caller = await identify(deps, request, reply)
  if (caller.sessionId === null) assertScope(caller, reach)
  assertRole(caller, id)
  assertConcernsProjects(caller, id)
  assertSecondFactor(caller, id, deps.clock.wall())
  return caller
}

function assertScope(caller: Caller, reach: RequiredCredential): void {
  if (reach === 'session') {
    throw new Problem('insufficient_scope', {
      detail: 'This operation needs a dashboard session; API keys cannot use it.',
    })
  }
  if (!caller.scopes.includes(reach)) {
    throw new Problem('insufficient_scope', { detail: `This operation needs the scope ${reach}.` })
  }
}

/** A key in the request takes precedence over a session. */
export async function identify(deps: Deps, request: FastifyRequest, reply: FastifyReply): Promise<Caller> {
  const value = presentedKey(request)
  const caller = value === null ? await bySession(deps, request, reply) : await byKey(deps, value, request, reply)
  if (!caller) {
    await takeToken(deps, reply, 'address', request.ip)
    throw new Problem('unauthorized')
  }
  if (caller.keyId !== null) await takeToken(deps, reply, 'key', caller.keyId)
  else await takeToken(deps, reply, 'session', caller.sessionId!)
  if (caller.sessionId !== null) assertOwnPage(deps, request)
  return caller
}

async function isStillValid(deps: Deps, request: FastifyRequest): Promise<boolean> {
  const value = presentedKey(request)
  // A person who lost the role must not go on watching, either.
  const mayStill = (role: Role) => mayUse(role, request.routeOptions.schema?.operationId ?? '')
  if (value !== null) {
    const key = await verifyKey(deps, value, request.ip)
    return key !== null && key !== 'elsewhere' && mayStill(key.role)
  }
  const token = request.cookies[SESSION_COOKIE]
  const found = token === undefined ? null : await verifySession(deps, token, usedFrom(request))
  return found !== null && mayStill(found.session.role)
}

/** Throws `address_not_allowed`; the attempt counts against the address and not against the key. */
async function byKey(deps: Deps, value: string, request: FastifyRequest, reply: FastifyReply): Promise<Caller | null> {
  const key = await verifyKey(deps, value, request.ip)
  if (!key) return null
  if (key === 'elsewhere') {
    await takeToken(deps, reply, 'address', request.ip)
    throw new Problem('address_not_allowed')
  }
  const { owner_id: ownerId, person_id, role, id: keyId, scopes: own, project_ids: projects } = key
  const personId = person_id ?? ownerId
  return { ownerId, scopes: own, keyId, sessionId: null, role, personId, person: null, projects, secondFactor: null }
}

async function bySession(deps: Deps, request: FastifyRequest, reply: FastifyReply): Promise<Caller | null> {
  const session = await sessionOf(deps, request, reply)
  return session && callerOfSession(session)
}

export const callerOfSession = (session: SessionRow): Caller => ({
  ownerId: session.owner_id,
  scopes,
  keyId: null,
  sessionId: session.id,
  role: session.role,
  personId: session.person_id ?? session.owner_id,
  person: session.email,
  projects: null,
  secondFactor: {
    has: session.has_factor,
    required: session.factor_required,
    provedAt: session.proved_at?.getTime() ?? null,
  },
})

function presentedKey(request: FastifyRequest): string | null {
  const header = request.headers['x-api-key']
  if (typeof header === 'string' && header !== '') return header
  return /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? null
}

// ---- Session cookie ----

export const SESSION_COOKIE = 'parley_session'

/** Null when there is no live session. */
export async function sessionOf(deps: Deps, request: FastifyRequest, reply: FastifyReply): Promise<SessionRow | null> {
  const token = request.cookies[SESSION_COOKIE]
  const found = token === undefined ? null : await verifySession(deps, token, usedFrom(request))
  if (found?.extended) setSessionCookie(deps, reply, token!, found.session)
  return found?.session ?? null
}

/** `Lax`: a link from another site opens the dashboard logged in; a form on another site does not. */
const cookieOptions = (deps: Deps) =>
  ({ path: '/', httpOnly: true, sameSite: 'lax', secure: deps.config.base_url.startsWith('https:') }) as const

export function setSessionCookie(
  deps: Deps,
  reply: FastifyReply,
  token: string,
  session: Pick<SessionRow, 'expires_at'>,
): void {
  const maxAge = Math.round((session.expires_at.getTime() - deps.clock.wall()) / 1000)
  reply.setCookie(SESSION_COOKIE, token, { ...cookieOptions(deps), maxAge })
}

export function clearSessionCookie(deps: Deps, reply: FastifyReply): void {
  reply.clearCookie(SESSION_COOKIE, cookieOptions(deps))
}

// ---- Cross-site requests ----

/** Null when both headers are missing, as with programs. A page can set neither header. */
function isFromOwnPage(deps: Deps, request: FastifyRequest): boolean | null {
  const { origin } = request.headers
  const site = request.headers['sec-fetch-site']
  if (site === 'same-origin' || origin === new URL(deps.config.base_url).origin) return true
  return origin === undefined && site === undefined ? null : false
}

/** Checks requests that change something. Browsers add the cookie to every request, so it proves no intent. */
export function assertOwnPage(deps: Deps, request: FastifyRequest): void {
  if (request.method === 'GET' || request.method === 'HEAD') return
  if (isFromOwnPage(deps, request) !== true) throw new Problem('cross_site')
}

/**
 * Without a session there is less to lose, and programs may log in. A page of another site still must not log anyone
 * in.
 */
export function refuseOtherPages(deps: Deps, request: FastifyRequest): void {
  if (isFromOwnPage(deps, request) === false) throw new Problem('cross_site')
}
