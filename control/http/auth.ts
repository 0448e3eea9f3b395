import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Deps } from '../deps.ts'
import { type Scope, verifyKey } from '../keys/service.ts'
import { Problem } from './problem.ts'
import { takeToken } from './rate-limit.ts'

/** Who may use an operation: a key with this scope, or only somebody at the dashboard. */
export type Reach = Scope | 'session'

export interface Caller {
  ownerId: string
  keyId: string
}

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller | null
  }
}

/** 401, then 429, then 403. */
export async function authenticate(
  deps: Deps,
  reach: Reach,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<Caller> {
  const value = presentedKey(request)
  const key = value === null ? null : await verifyKey(deps, value)
  if (!key) {
    await takeToken(deps, reply, 'address', request.ip)
    throw new Problem('unauthorized')
  }
  await takeToken(deps, reply, 'key', key.id)
  if (reach === 'session') {
    throw new Problem('insufficient_scope', { detail: 'This is done in the dashboard; a key cannot do it.' })
  }
  if (!key.scopes.includes(reach)) throw new Problem('insufficient_scope', { detail: `This needs the scope ${reach}.` })
  return { ownerId: key.owner_id, keyId: key.id }
}

function presentedKey(request: FastifyRequest): string | null {
  const header = request.headers['x-api-key']
  if (typeof header === 'string' && header !== '') return header
  return /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? null
}
