import ipaddr from 'ipaddr.js'
import { z } from 'zod'
import { Phone } from '../phone.ts'

const isCidr = (text: string) => ipaddr.isValidCIDR(text) || ipaddr.isValid(text)
const Host = z
  .string()
  .max(253)
  .regex(/^[A-Za-z0-9.:_-]+$/, 'must be a host name or an address')

/** These go into SIP messages, where a line break begins another header. */
const line = z
  .string()
  .max(255)
  .regex(/^[ -~\u0080-\uffff]*$/, 'must be one line')

const shown = {
  name: z.string().trim().min(1).max(200),
  mode: z.enum(['register', 'ip', 'both']).describe('Register there, take calls by address, or both'),
  host: Host,
  port: z.int().min(1).max(65_535),
  transport: z.enum(['udp', 'tcp', 'tls']),
  username: line.min(1).nullable(),
  realm: line.nullable(),
  outbound_proxy: line.nullable(),
  allowed_ips: z.array(z.string().refine(isCidr, { error: 'must be an address or a CIDR' })).max(100),
  codecs: z
    .array(z.enum(['PCMU', 'PCMA']))
    .min(1)
    .max(2),
  srtp: z
    .enum(['off', 'optional', 'required'])
    .refine((srtp): boolean => srtp === 'off', { error: 'is not supported yet', params: { code: 'not_supported' } })
    .describe('Only `off` is supported yet'),
  max_calls: z.int().min(1).max(100_000).nullable().describe('Calls at once, in both directions; more are refused'),
  max_cps: z.int().min(1).max(1000).nullable().describe('Calls dialled in a second; more wait'),
  numbers: z
    .array(Phone)
    .max(1000)
    .refine(numbers => new Set(numbers).size === numbers.length, { error: 'must not repeat' })
    .meta({ uniqueItems: true }),
}
const password = line.min(1).nullable().describe('Never shown again')

export const TrunkPatch = z.strictObject({ ...shown, password }).partial()
export type TrunkPatch = z.output<typeof TrunkPatch>
export const TrunkCreate = TrunkPatch.required({ name: true, mode: true, host: true })
export type TrunkInput = z.input<typeof TrunkCreate>
export type TrunkSettings = Required<{ [K in keyof TrunkPatch]: Exclude<TrunkPatch[K], undefined> }>

export const trunkDefaults = {
  port: 5060,
  transport: 'udp',
  username: null,
  password: null,
  realm: null,
  outbound_proxy: null,
  allowed_ips: [],
  codecs: ['PCMA', 'PCMU'],
  srtp: 'off',
  max_calls: null,
  max_cps: null,
  numbers: [],
} satisfies Omit<TrunkSettings, 'name' | 'mode' | 'host'>

export const TrunkView = z
  .object({
    id: z.uuid(),
    ...shown,
    status: z.object({
      registration: z.enum(['none', 'registering', 'registered', 'failed']),
      last_options_ms: z.int().nullable().describe('How long the last OPTIONS was answered after'),
      last_error: z.string().nullable(),
      changed_at: z.string().nullable(),
    }),
    created_at: z.string(),
  })
  .meta({ id: 'Trunk' })

export const TrunkPath = z.object({ trunk_id: z.uuid() })
