/** The second factor of the person: codes of an app, passkeys, recovery codes. */
import type { FastifyInstance } from 'fastify'
import type { Deps } from '../../platform/deps.ts'
import type { Caller } from '../../platform/http/caller.ts'
import { notFound, Problem } from '../../platform/http/problem.ts'
import { deletionRoute, route } from '../../platform/http/route.ts'
import type { PersonRow } from '../people/sql.ts'
import { registrationOptions } from '../second-factor/passkeys.ts'
import {
  AddPasskey,
  ConfirmTotp,
  PasskeyAdded,
  PasskeyCreationOptions,
  PasskeyPath,
  Proof,
  RecoveryCodesCreated,
  SecondFactorPatch,
  SecondFactorVerified,
  SecondFactorView,
  TotpConfirmed,
  TotpStarted,
  VerifySecondFactor,
} from '../second-factor/schema.ts'
import {
  assertProof,
  describeSecondFactor,
  enrolPasskey,
  finishTotp,
  removePasskey,
  renewRecoveryCodes,
  requireSecondFactor,
  startTotp,
  stopTotp,
  verifyAgain,
} from '../second-factor/service.ts'
import { hasSecondFactor } from '../second-factor/sql.ts'
import { type SessionRow, sessionById } from '../sessions/sessions.ts'
import { assertPassword, personOf } from './login.ts'

const tag = 'Second factor'
const scope = 'session' as const
const notATool = 'A key has no second factor, and must not change that of a person.'
const common = { scope, tag, notATool }

interface Self {
  person: PersonRow
  session: SessionRow
}

async function selfOf(deps: Deps, { ownerId, sessionId }: Caller): Promise<Self> {
  const session = sessionId === null ? null : await sessionById(deps, ownerId, sessionId)
  if (!session) throw new Problem('unauthorized')
  return { session, person: await personOf(deps, session) }
}

/** Checks the password and, when the person has one, the second factor. */
async function proven(deps: Deps, caller: Caller, proof: Proof): Promise<Self> {
  const self = await selfOf(deps, caller)
  await assertPassword(deps, self.person, proof.password, self.session.address ?? '')
  await assertProof(deps, self.person, self.session, proof.code)
  return self
}

export function secondFactorRoutes(app: FastifyInstance, deps: Deps): void {
  route(app, deps, {
    ...common,
    id: 'get_second_factor',
    method: 'GET',
    path: '/second-factor',
    summary: 'Retrieve your second factor',
    answer: SecondFactorView,
    handle: async ({ caller }) => describeSecondFactor(deps, (await selfOf(deps, caller)).person),
  })
  route(app, deps, {
    ...common,
    id: 'update_second_factor',
    method: 'PATCH',
    path: '/second-factor',
    summary: 'Require a second factor of every person of the account',
    description:
      'People without one can then only set one up. You need a second factor of your own first. API keys are not affected.',
    body: SecondFactorPatch,
    answer: SecondFactorView,
    errors: ['second_factor_required'],
    async handle({ caller, body }) {
      const { person } = await selfOf(deps, caller)
      await requireSecondFactor(deps, person, body.required)
      return describeSecondFactor(deps, person)
    },
  })
  route(app, deps, {
    ...common,
    id: 'verify_second_factor',
    method: 'POST',
    path: '/second-factor/verify',
    summary: 'Prove your second factor again, by a code or a passkey',
    description:
      'Needed for sensitive changes 15 minutes after the last proof. For a passkey, get a challenge from `/auth/passkey-options`.',
    body: VerifySecondFactor,
    answer: SecondFactorVerified,
    errors: ['invalid_credentials'],
    async handle({ caller, body }) {
      const { person, session } = await selfOf(deps, caller)
      return { verified_until: (await verifyAgain(deps, person, session, body)).toISOString() }
    },
  })
  totpRoutes(app, deps)
  passkeyRoutes(app, deps)
  recoveryRoute(app, deps)
}

function totpRoutes(app: FastifyInstance, deps: Deps): void {
  route(app, deps, {
    ...common,
    id: 'start_totp',
    method: 'POST',
    path: '/second-factor/totp',
    summary: 'Start the set-up of codes by an authenticator app (TOTP)',
    description: 'Show the address as a QR code, then send a code of the app to `confirm_totp`.',
    body: Proof,
    answer: TotpStarted,
    secret: 'uri',
    errors: ['invalid_credentials', 'second_factor_required', 'second_factor_exists'],
    handle: async ({ caller, body }) => ({ uri: await startTotp(deps, (await proven(deps, caller, body)).person) }),
  })
  route(app, deps, {
    ...common,
    id: 'confirm_totp',
    method: 'POST',
    path: '/second-factor/totp/confirm',
    summary: 'Finish the set-up with a code of the app; from then on, a log-in needs one',
    body: ConfirmTotp,
    answer: TotpConfirmed,
    secret: 'recovery_codes',
    errors: ['invalid_credentials', 'second_factor_exists'],
    async handle({ caller, body }) {
      const { person, session } = await selfOf(deps, caller)
      const recovery_codes = await finishTotp(deps, person, session, body.code)
      return { totp: true as const, ...(recovery_codes ? { recovery_codes } : {}) }
    },
  })
  route(app, deps, {
    ...common,
    id: 'disable_totp',
    method: 'POST',
    path: '/second-factor/totp/disable',
    summary: 'Turn off codes of an app',
    body: Proof,
    answer: SecondFactorView,
    errors: ['invalid_credentials', 'second_factor_required'],
    async handle({ caller, body }) {
      const { person } = await proven(deps, caller, body)
      await stopTotp(deps, person)
      return describeSecondFactor(deps, person)
    },
  })
}

function passkeyRoutes(app: FastifyInstance, deps: Deps): void {
  route(app, deps, {
    ...common,
    id: 'start_passkey',
    method: 'POST',
    path: '/second-factor/passkeys/options',
    summary: 'Start the set-up of a passkey: options for `navigator.credentials.create()`',
    description: 'The challenge works once, within five minutes. Passkeys need the installation to have a host name.',
    body: Proof,
    answer: PasskeyCreationOptions,
    errors: ['invalid_credentials', 'second_factor_required', 'limit_reached'],
    async handle({ caller, body }) {
      const { person } = await proven(deps, caller, body)
      return (await registrationOptions(deps, person)) as never
    },
  })
  route(app, deps, {
    ...common,
    id: 'add_passkey',
    method: 'POST',
    path: '/second-factor/passkeys',
    summary: 'Finish the set-up of a passkey with the answer of the browser',
    body: AddPasskey,
    status: 201,
    answer: PasskeyAdded,
    secret: 'recovery_codes',
    errors: ['invalid_credentials'],
    async handle({ caller, body }) {
      const { person, session } = await selfOf(deps, caller)
      return enrolPasskey(deps, person, session, body)
    },
  })
  deletionRoute(app, deps, {
    ...common,
    id: 'remove_passkey',
    path: '/second-factor/passkeys/:passkey_id',
    summary: 'Remove a passkey; prove your second factor with `verify_second_factor` first',
    params: PasskeyPath,
    errors: ['not_found', 'second_factor_required'],
    async remove({ caller, params }) {
      const { person, session } = await selfOf(deps, caller)
      if (await hasSecondFactor(deps.sql, person)) await assertProof(deps, person, session, undefined)
      if (!(await removePasskey(deps, person, params.passkey_id))) throw notFound()
    },
  })
}

function recoveryRoute(app: FastifyInstance, deps: Deps): void {
  route(app, deps, {
    ...common,
    id: 'renew_recovery_codes',
    method: 'POST',
    path: '/second-factor/recovery-codes',
    summary: 'Create new recovery codes; the earlier ones stop working',
    body: Proof,
    answer: RecoveryCodesCreated,
    secret: 'recovery_codes',
    errors: ['invalid_credentials', 'second_factor_required'],
    async handle({ caller, body }) {
      const { person } = await proven(deps, caller, body)
      if (!(await hasSecondFactor(deps.sql, person))) {
        throw new Problem('second_factor_required', {
          detail: 'Recovery codes need a second factor. Set one up first.',
        })
      }
      return { recovery_codes: await renewRecoveryCodes(deps, person) }
    },
  })
}
