/**
 * Hashes passwords with argon2id, stored as PHC strings. Each string holds its parameters, so that they can be raised
 * later: a log-in with an older hash replaces it.
 */
import { argon2, randomBytes, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import PQueue from 'p-queue'
import { Problem } from '../../platform/http/problem.ts'

/** OWASP's recommendation for argon2id: KiB, passes, lanes. */
const WANTED = { memory: 19_456, passes: 2, parallelism: 1 }
const SALT_BYTES = 16
const HASH_BYTES = 32
const PHC = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/

/** Each hash takes 19 MiB and one core for about 50 ms: log-ins must not take the machine away from calls. */
const AT_ONCE = 2
const MOST_WAITING = 100
const slots = new PQueue({ concurrency: AT_ONCE })

const derive = promisify(argon2)

interface Parameters {
  memory: number
  passes: number
  parallelism: number
}

/** Runs off the event loop, in Node's thread pool. */
async function argon2id(password: string, salt: Buffer, bytes: number, parameters: Parameters): Promise<Buffer> {
  if (slots.size >= MOST_WAITING) throw new Problem('service_unavailable', { retryAfterSeconds: 10 })
  // Keyboards may encode the same characters as different code points.
  const message = password.normalize('NFKC')
  return slots.add(() => derive('argon2id', { message, nonce: salt, tagLength: bytes, ...parameters }))
}

const encode = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '')

function toPhc(salt: Buffer, hash: Buffer): string {
  const { memory, passes, parallelism } = WANTED
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${encode(salt)}$${encode(hash)}`
}

export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(SALT_BYTES)
  return toPhc(salt, await argon2id(password, salt, HASH_BYTES, WANTED))
}

/** A hash that no password has, used when there is no account or no password. */
const NOBODY = toPhc(Buffer.alloc(SALT_BYTES), Buffer.alloc(HASH_BYTES))

export interface Match {
  ok: boolean
  /** True when the hash was made with parameters other than `WANTED`. */
  stale: boolean
}

/**
 * Does the same work when there is no password or no account, so that timing reveals nothing; the result is then false.
 */
export async function matchPassword(password: string, phc: string | null): Promise<Match> {
  const parts = PHC.exec(phc ?? NOBODY)
  if (!parts) throw new Error('stored password is not an argon2id PHC string')
  const [memory, passes, parallelism] = [Number(parts[1]), Number(parts[2]), Number(parts[3])]
  const [salt, hash] = [Buffer.from(parts[4]!, 'base64'), Buffer.from(parts[5]!, 'base64')]
  const found = await argon2id(password, salt, hash.length, { memory, passes, parallelism })
  const { memory: m, passes: t, parallelism: p } = WANTED
  return {
    ok: timingSafeEqual(found, hash) && phc !== null,
    stale: memory !== m || passes !== t || parallelism !== p || hash.length !== HASH_BYTES,
  }
}
