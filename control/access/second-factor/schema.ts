import { z } from 'zod'
import { Code, GivenPassword } from '../accounts/schema.ts'

const Base64Url = z.string().regex(/^[\w-]{1,20000}$/, 'must be base64url')

/** Proof for a change of the log-in. `code` is required when the person has a second factor. */
export const Proof = z.strictObject({
  password: GivenPassword,
  code: Code.optional().describe(
    'A code of the app, or a recovery code. Required when you have a second factor, unless `verify_second_factor` succeeded within the last two minutes',
  ),
})
export type Proof = z.output<typeof Proof>

export const ConfirmTotp = z.strictObject({ code: Code })

/** `PublicKeyCredentialJSON` of WebAuthn, without extensions. */
const Credential = z.strictObject({
  id: Base64Url.max(1400),
  rawId: Base64Url.max(1400),
  type: z.literal('public-key'),
  authenticatorAttachment: z.enum(['platform', 'cross-platform']).nullable().optional(),
})

/** `RegistrationResponseJSON`. */
export const Attestation = Credential.extend({
  response: z.strictObject({
    clientDataJSON: Base64Url,
    attestationObject: Base64Url,
    authenticatorData: Base64Url.optional(),
    transports: z.array(z.string().max(20)).max(10).optional(),
    publicKeyAlgorithm: z.int().optional(),
    publicKey: Base64Url.optional(),
  }),
})
export type Attestation = z.output<typeof Attestation>

/** `AuthenticationResponseJSON`. */
export const Assertion = Credential.extend({
  response: z.strictObject({
    clientDataJSON: Base64Url,
    authenticatorData: Base64Url,
    signature: Base64Url,
    userHandle: Base64Url.nullable().optional(),
  }),
})
export type Assertion = z.output<typeof Assertion>

export const AddPasskey = z.strictObject({
  name: z.string().trim().min(1).max(100).describe('For the list, such as the name of the device'),
  response: Attestation,
})
export const PasskeyLogIn = z.strictObject({ response: Assertion })
export const VerifySecondFactor = z
  .strictObject({ code: Code.optional(), response: Assertion.optional() })
  .refine(given => (given.code === undefined) !== (given.response === undefined), {
    error: 'must have either code or response',
  })
export const SecondFactorPatch = z.strictObject({
  required: z.boolean().describe('Whether every person of the account needs a second factor'),
})

export const PasskeyView = z
  .object({ id: z.uuid(), name: z.string(), created_at: z.string(), last_used_at: z.string().nullable() })
  .meta({ id: 'Passkey' })
const RecoveryCodes = z
  .array(z.string())
  .optional()
  .describe('Recovery codes, shown only once. Omitted when you have some already')

export const SecondFactorView = z
  .object({
    totp: z.boolean().describe('True when codes of an app are set up'),
    passkeys: z.array(PasskeyView),
    recovery_codes_left: z.int(),
    required: z.boolean().describe('True when the account requires a second factor of everybody'),
  })
  .meta({ id: 'SecondFactor' })
export const TotpStarted = z
  .object({
    uri: z
      .string()
      .optional()
      .describe('`otpauth:` address for a QR code; its `secret` may be typed instead. Shown only once'),
  })
  .meta({ id: 'TotpStarted' })
export const TotpConfirmed = z
  .object({ totp: z.literal(true), recovery_codes: RecoveryCodes })
  .meta({ id: 'TotpConfirmed' })
export const PasskeyAdded = z
  .object({ passkey: PasskeyView, recovery_codes: RecoveryCodes })
  .meta({ id: 'PasskeyAdded' })
export const RecoveryCodesCreated = z.object({ recovery_codes: RecoveryCodes }).meta({ id: 'RecoveryCodesCreated' })
export const SecondFactorVerified = z
  .object({ verified_until: z.string().describe('Until then, changes of the log-in need no code') })
  .meta({ id: 'SecondFactorVerified' })

export const PasskeyCreationOptions = z
  .object({
    challenge: z.string(),
    rp: z.object({ id: z.string().optional(), name: z.string() }),
    user: z.object({ id: z.string(), name: z.string(), displayName: z.string() }),
    pubKeyCredParams: z.array(z.object({ type: z.literal('public-key'), alg: z.int() })),
    timeout: z.int().optional(),
    attestation: z.string().optional(),
    excludeCredentials: z
      .array(z.object({ id: z.string(), type: z.literal('public-key'), transports: z.array(z.string()).optional() }))
      .optional(),
    authenticatorSelection: z
      .object({
        residentKey: z.string().optional(),
        requireResidentKey: z.boolean().optional(),
        userVerification: z.string().optional(),
      })
      .optional(),
  })
  .meta({ id: 'PasskeyCreationOptions' })
export const PasskeyRequestOptions = z
  .object({
    challenge: z.string(),
    rpId: z.string().optional(),
    timeout: z.int().optional(),
    userVerification: z.string().optional(),
  })
  .meta({ id: 'PasskeyRequestOptions' })
export const PasskeyPath = z.object({ passkey_id: z.uuid() })
