/** Passkeys: WebAuthn with user verification. Challenges work once, and wait in Redis for five minutes. */
import {
  generateAuthenticationOptions,
  generateRegistrationOptions,
  verifyAuthenticationResponse,
  verifyRegistrationResponse,
} from '@simplewebauthn/server'
import { type Deps, wallDate } from '../../platform/deps.ts'
import { limitReached, Problem } from '../../platform/http/problem.ts'
import { uuidv7 } from '../../platform/ids.ts'
import type { PersonRow } from '../people/sql.ts'
import type { Assertion, Attestation } from './schema.ts'
import { insertPasskey, type PasskeyRow, selectPasskeyByCredential, selectPasskeys, touchPasskey } from './sql.ts'

const MOST_PASSKEYS = 20
const CHALLENGE_MS = 5 * 60_000

/** Relying party: our origin, and its host name as id. A browser refuses an id that is an IP address. */
const partyOf = ({ config }: Pick<Deps, 'config'>) => {
  const { origin, hostname } = new URL(config.base_url)
  return { origin, id: hostname }
}

const keyOf = (deps: Deps, challenge: string) => `${deps.config.redis_prefix}:passkey:${challenge}`

/** `whose`: the person who registers; an empty string for a log-in, where nobody is known yet. */
async function keepChallenge(deps: Deps, challenge: string, whose: string): Promise<void> {
  await deps.redis.set(keyOf(deps, challenge), `for ${whose}`, 'PX', CHALLENGE_MS)
}

/** True once, for a challenge of ours that was made for `whose`. */
async function spendChallenge(deps: Deps, challenge: string, whose: string): Promise<boolean> {
  return (await deps.redis.getdel(keyOf(deps, challenge))) === `for ${whose}`
}

export async function registrationOptions(deps: Deps, person: PersonRow) {
  const known = await selectPasskeys(deps.sql, person)
  if (known.length >= MOST_PASSKEYS) throw limitReached(MOST_PASSKEYS, 'passkeys for each person')
  const options = await generateRegistrationOptions({
    rpName: 'Parley',
    rpID: partyOf(deps).id,
    userName: person.email ?? person.name,
    userDisplayName: person.name,
    userID: new Uint8Array(Buffer.from(person.id.replaceAll('-', ''), 'hex')),
    timeout: CHALLENGE_MS,
    attestationType: 'none',
    excludeCredentials: known.map(({ credential_id, transports }) => ({ id: credential_id, transports })),
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
  })
  await keepChallenge(deps, options.challenge, person.id)
  return options
}

export async function assertionOptions(deps: Deps) {
  const options = await generateAuthenticationOptions({
    rpID: partyOf(deps).id,
    timeout: CHALLENGE_MS,
    userVerification: 'required',
  })
  await keepChallenge(deps, options.challenge, '')
  return options
}

/** Throws `invalid_credentials` when the answer of the authenticator is not for our challenge and origin. */
export async function addPasskey(
  deps: Deps,
  person: PersonRow,
  { name, response }: { name: string; response: Attestation },
): Promise<PasskeyRow> {
  const { origin, id: expectedRPID } = partyOf(deps)
  const result = await verifyRegistrationResponse({
    response: { ...response, clientExtensionResults: {} } as Parameters<
      typeof verifyRegistrationResponse
    >[0]['response'],
    expectedChallenge: challenge => spendChallenge(deps, challenge, person.id),
    expectedOrigin: origin,
    expectedRPID,
    requireUserVerification: true,
  }).catch(() => null)
  if (!result?.verified) throw notVerified()
  const { credential } = result.registrationInfo
  const created_at = wallDate(deps)
  const row = {
    id: uuidv7(created_at.getTime()),
    owner_id: person.owner_id,
    person_id: person.id,
    credential_id: credential.id,
    public_key: Buffer.from(credential.publicKey),
    counter: credential.counter,
    transports: (response.response.transports ?? []) as string[],
    name,
    created_at,
  }
  // A credential of somebody else: the options exclude the person's own ones.
  if (await selectPasskeyByCredential(deps.sql, row.credential_id)) throw notVerified()
  await insertPasskey(deps.sql, row)
  return { ...row, last_used_at: null }
}

/** Returns the passkey that signed our challenge. Throws `invalid_credentials` for everything else. */
export async function verifyPasskey(deps: Deps, response: Assertion): Promise<PasskeyRow> {
  const passkey = await selectPasskeyByCredential(deps.sql, response.id)
  if (!passkey) throw notVerified()
  const { origin, id: expectedRPID } = partyOf(deps)
  const result = await verifyAuthenticationResponse({
    response: {
      ...response,
      clientExtensionResults: {},
    } as Parameters<typeof verifyAuthenticationResponse>[0]['response'],
    expectedChallenge: challenge => spendChallenge(deps, challenge, ''),
    expectedOrigin: origin,
    expectedRPID,
    requireUserVerification: true,
    credential: {
      id: passkey.credential_id,
      publicKey: new Uint8Array(passkey.public_key),
      counter: Number(passkey.counter),
    },
  }).catch(() => null)
  if (!result?.verified) throw notVerified()
  const { newCounter } = result.authenticationInfo
  if (!(await touchPasskey(deps.sql, passkey, newCounter, wallDate(deps)))) throw notVerified()
  return passkey
}

const notVerified = () =>
  new Problem('invalid_credentials', { detail: 'The passkey is unknown, or its answer does not fit. Try again.' })
