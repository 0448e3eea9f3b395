/**
 * Passwords as argon2id in PHC strings. The parameters stand in each string, so that they can be raised later: who logs in
 * with an older one gets a new one.
 */
import { argon2, randomBytes, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import PQueue from 'p-queue'
import { Problem } from '../../platform/http/problem.ts'

/** OWASP's choice for argon2id: KiB, passes, lanes. */
const WANTED = { memory: 19_456, passes: 2, parallelism: 1 }
const SALT_BYTES = 16
const HASH_BYTES = 32
const PHC = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/

/** Each takes 19 MiB and a core for some 50 ms: log-ins must not take the machine from calls. */
const AT_ONCE = 2
const MOST_WAITING = 100
const turns = new PQueue({ concurrency: AT_ONCE })

const derive = promisify(argon2)

interface Parameters {
  memory: number
  passes: number
  parallelism: number
}

/** Off the event loop, in Node's thread pool. */
async function argon2id(password: string, salt: Buffer, bytes: number, parameters: Parameters): Promise<Buffer> {
  if (turns.size >= MOST_WAITING) throw new Problem('service_unavailable', { retryAfterSeconds: 10 })
  // The same characters may be typed as different code points, according to the keyboard.
  const message = password.normalize('NFKC')
  return turns.add(() => derive('argon2id', { message, nonce: salt, tagLength: bytes, ...parameters }))
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

/** No password gives this hash; it is there to be compared with. */
const NOBODY = toPhc(Buffer.alloc(SALT_BYTES), Buffer.alloc(HASH_BYTES))

export interface Match {
  ok: boolean
  /** It was made with other parameters than are wanted now. */
  stale: boolean
}

/** Where there is no password, or not even an account, the answer is no after the same work. */
export async function matchPassword(password: string, phc: string | null): Promise<Match> {
  const parts = PHC.exec(phc ?? NOBODY)
  if (!parts) throw new Error('a stored password is no PHC string of argon2id')
  const [memory, passes, parallelism] = [Number(parts[1]), Number(parts[2]), Number(parts[3])]
  const [salt, hash] = [Buffer.from(parts[4]!, 'base64'), Buffer.from(parts[5]!, 'base64')]
  const found = await argon2id(password, salt, hash.length, { memory, passes, parallelism })
  const { memory: m, passes: t, parallelism: p } = WANTED
  return {
    ok: timingSafeEqual(found, hash) && phc !== null,
    stale: memory !== m || passes !== t || parallelism !== p || hash.length !== HASH_BYTES,
  }
}
