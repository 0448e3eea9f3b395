/**
 * Shows whose a number is: the operator's agent calls it, over the operator's trunk, and speaks a code. A call over the
 * account's own trunk would prove nothing, because its owner chooses where that leads.
 */
import { randomInt } from 'node:crypto'
import type { z } from 'zod'
import { selectProjectOwner } from '../../agents/projects/sql.ts'
import { type Deps, wallDate } from '../../platform/deps.ts'
import { invalidField, notFound, Problem } from '../../platform/http/problem.ts'
import { countUse } from '../../platform/http/use-counter.ts'
import { withJobs } from '../../platform/jobs/jobs.ts'
import { toE164 } from '../../platform/phone.ts'
import { placeCall } from '../calls/service.ts'
import { expectVerificationCall, forgetVerificationCall } from '../numbers/pending.ts'
import { presentNumber } from '../numbers/service.ts'
import { type NumberRow, selectNumber, updateVerified } from '../numbers/sql.ts'
import { announceTrunks } from '../trunks/service.ts'
import type { VerificationView } from './schema.ts'

const VALID_SECONDS = 600
const MOST_TRIES = 5
/** Verification calls of an account per hour. */
const MOST_CALLS = 5
/**
 * Verification calls to one number per day, from all accounts: more would let strangers ring a telephone at will. Not
 * reported, because it would tell one account of another.
 */
const MOST_CALLS_TO_NUMBER = 3
/** Codes that an account may try per hour, over all of its numbers and calls. */
const MOST_CODES = 10
const HOUR_SECONDS = 3600
/** Milliseconds after which a verification call is not placed any more: its owner waits, and so does the number. */
const QUEUED_MS = 60_000

type Ports = Pick<Deps, 'redis' | 'config' | 'sealer'>
const keys = ({ config }: Pick<Deps, 'config'>) => {
  const prefix = `${config.redis_prefix}:verification`
  return {
    code: (numberId: string) => `${prefix}:code:${numberId}`,
    ofOwner: (ownerId: string) => `${prefix}:owner:${ownerId}`,
    codesOf: (ownerId: string) => `${prefix}:codes:${ownerId}`,
    ofNumber: (number: string) => `${prefix}:number:${number}`,
  }
}

/** Not the code itself: whoever reads Redis must not verify numbers. */
const sealOf = ({ sealer }: Ports, numberId: string, code: string): string =>
  sealer.nameFor(`verification:${numberId}:${code}`)

async function numberOf(deps: Deps, ownerId: string, text: string): Promise<NumberRow> {
  const row = await selectNumber(deps.sql, ownerId, toE164(text) ?? '')
  if (!row) throw notFound()
  return row
}

export async function startVerification(
  deps: Deps,
  ownerId: string,
  text: string,
): Promise<z.input<typeof VerificationView>> {
  const { id, number } = await numberOf(deps, ownerId, text)
  const project = deps.config.number_check_project
  if (project === null) throw new Problem('verification_unavailable')
  const own = await countUse(deps.redis, keys(deps).ofOwner(ownerId), HOUR_SECONDS)
  if (own.count > MOST_CALLS) {
    const detail = `Numbers can be verified ${MOST_CALLS} times per hour.`
    throw new Problem('rate_limited', { detail, retryAfterSeconds: own.leftSeconds })
  }
  const code = String(randomInt(1_000_000)).padStart(6, '0')
  const toNumber = await countUse(deps.redis, keys(deps).ofNumber(number), 24 * HOUR_SECONDS)
  if (toNumber.count <= MOST_CALLS_TO_NUMBER) {
    await callWith(deps, project, number, code)
  }
  const key = keys(deps).code(id)
  await deps.redis
    .multi()
    .del(key)
    .hset(key, { code: sealOf(deps, id, code), tries: 0 })
    .expire(key, VALID_SECONDS)
    .exec()
  const expires_at = new Date(deps.clock.wall() + VALID_SECONDS * 1000).toISOString()
  return { number, expires_at, tries_left: MOST_TRIES }
}

/** The operator's project speaks `{{code}}`; its account pays for the call. */
async function callWith(deps: Deps, project: string, number: string, code: string): Promise<void> {
  const ownerId = await selectProjectOwner(deps.sql, project)
  if (ownerId === undefined) throw new Problem('verification_unavailable')
  try {
    // Recorded before anything rings. Until the line is known, every caller may be this call.
    await expectVerificationCall(deps, number, '')
    const vars = { code: [...code].join(' ') }
    const soon = { ...deps, config: { ...deps.config, queue_expiry_ms: QUEUED_MS } }
    const { from } = await placeCall(soon, ownerId, { project_id: project, phone: number, vars } as never)
    await expectVerificationCall(deps, number, from)
  } catch (error) {
    await forgetVerificationCall(deps, number)
    // Why the operator's account cannot call is nothing for this one.
    if (!(error instanceof Problem)) throw error
    deps.log.warn({ code: error.code }, 'verification call was not placed')
    throw new Problem('verification_unavailable', { cause: error })
  }
}

export async function confirmVerification(deps: Deps, ownerId: string, text: string, code: string) {
  const { id, number } = await numberOf(deps, ownerId, text)
  const tried = await countUse(deps.redis, keys(deps).codesOf(ownerId), HOUR_SECONDS)
  if (tried.count > MOST_CODES) {
    const detail = `An account may try ${MOST_CODES} codes per hour.`
    throw new Problem('rate_limited', { detail, retryAfterSeconds: tried.leftSeconds })
  }
  const key = keys(deps).code(id)
  const sealed = await deps.redis.hget(key, 'code')
  const tries = sealed === null ? 0 : await deps.redis.hincrby(key, 'tries', 1)
  if (sealed === null || tries > MOST_TRIES) {
    throw invalidField('/code', 'no_verification', 'no code is valid now; start another verification call')
  }
  if (sealed !== sealOf(deps, id, code)) {
    const left = MOST_TRIES - tries
    throw invalidField(
      '/code',
      'wrong_code',
      `is not the code of the call; ${left} more ${left === 1 ? 'try' : 'tries'}`,
    )
  }
  await deps.redis.del(key, keys(deps).codesOf(ownerId))
  return withJobs(deps, async tx => {
    await updateVerified(tx, ownerId, id, wallDate(deps))
    await announceTrunks(deps, tx)
    const row = await selectNumber(tx, ownerId, number)
    if (!row) throw notFound()
    return presentNumber(row)
  })
}
