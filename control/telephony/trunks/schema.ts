import ipaddr from 'ipaddr.js'
import { z } from 'zod'
import { CodecName } from '../../../media/contract/plan.ts'
import { Language } from '../../agents/projects/schema.ts'
import { Phone, Region } from '../../platform/phone.ts'

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

const transport = z.enum(['udp', 'tcp', 'tls'])
const port = z
  .int()
  .min(1)
  .max(65_535)
  .nullable()
  .describe(
    'Null: the DNS records of the host say where its servers are (RFC 3263: NAPTR, SRV, else its address at the usual port), ' +
      'and `udp` as transport leaves that to them, too',
  )
const FurtherHost = z.strictObject({ host: Host, port: port.default(5060), transport: transport.default('udp') })

/** Into addresses, where these would end or begin something else. */
const word = line.min(1).regex(/^[^\s<>"@]*$/, 'must be one word without <, >, " and @')

const shown = {
  name: z.string().trim().min(1).max(200),
  mode: z.enum(['register', 'ip', 'both']).describe('Register there, take calls by address, or both'),
  host: Host,
  port,
  transport,
  hosts: z
    .array(FurtherHost)
    .max(10)
    .describe('Tried in this order after `host`, when that does not answer or says 503'),
  options_interval_seconds: z
    .int()
    .min(10)
    .max(3600)
    .nullable()
    .describe('How often each host is asked with OPTIONS whether it is there; null: never'),
  username: line.min(1).nullable(),
  realm: line.nullable(),
  outbound_proxy: line.nullable(),
  allowed_ips: z.array(z.string().refine(isCidr, { error: 'must be an address or a CIDR' })).max(100),
  codecs: z
    .array(CodecName)
    .min(1)
    .refine(codecs => new Set(codecs).size === codecs.length, { error: 'must not repeat' })
    .meta({ uniqueItems: true })
    .describe('Offered in this order to whom we call; of who calls us the order is theirs'),
  srtp: z
    .enum(['off', 'optional', 'required'])
    .describe(
      'SRTP, by DTLS or SDES: `optional` encrypts where the other side does too, `required` refuses calls that are not. ' +
        'Keys of SDES are in the signalling: use `tls` as transport',
    ),
  max_calls: z
    .int()
    .min(1)
    .max(100_000)
    .nullable()
    .describe(
      'Lines in use at once, in both directions; more calls are refused. A call that is bridged to somebody (`transfer`) has two: while none is free for the second, the agent is told so',
    ),
  max_cps: z.int().min(1).max(1000).nullable().describe('Calls dialled in a second; more wait'),
  from_user: word
    .nullable()
    .describe('User of From, where the carrier wants the account there; null: the number called from'),
  from_domain: Host.nullable().describe('Domain of From and of the account, where it is not `host`'),
  pai: z.enum(['always', 'never']).describe('Whether the number called from is told in P-Asserted-Identity'),
  privacy: z
    .enum(['none', 'id'])
    .describe('`id`: who is called does not see the number. A carrier that must know it needs `pai` too'),
  number_format: z
    .enum(['plus', 'national', 'digits'])
    .describe('How the carrier wants numbers: +49301234, 0301234 or 49301234'),
  region: Region.nullable().describe(
    'Whose national numbers the carrier writes; null: the country of the first number',
  ),
  transfer: z
    .enum(['refer', 'bridge'])
    .describe(
      'How a call is given to somebody: `refer` asks the carrier to connect them, and calls them over this trunk when it will not; `bridge` always calls them, and stays in the call, which is recorded on',
    ),
  fallback_number: Phone.nullable().describe(
    'Where the carrier is told to send calls that cannot be taken (302), such as a person; null: they are refused',
  ),
  refusal_announcement: z
    .string()
    .trim()
    .min(1)
    .max(300)
    .nullable()
    .describe(
      'What a caller hears whose call is refused for want of money, a subscription or a free line, or since nobody is at the ' +
        'number: unbilled, before the answer (183), for 15 s at most. Not where `fallback_number` is told; null: nothing',
    ),
  refusal_language: Language.describe('Of `refusal_announcement`'),
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
  hosts: [],
  options_interval_seconds: null,
  username: null,
  password: null,
  realm: null,
  outbound_proxy: null,
  allowed_ips: [],
  // Carriers turn wideband into G.711 anyway, so that comes first. Opus would make an INVITE too long for UDP at some.
  codecs: ['PCMA', 'PCMU', 'G722'],
  srtp: 'off',
  max_calls: null,
  max_cps: null,
  from_user: null,
  from_domain: null,
  pai: 'never',
  privacy: 'none',
  number_format: 'plus',
  region: null,
  transfer: 'refer',
  fallback_number: null,
  refusal_announcement: null,
  refusal_language: 'en',
  numbers: [],
} satisfies Omit<TrunkSettings, 'name' | 'mode' | 'host'>

const server = {
  ...{ host: z.string(), transport },
  alive: z.boolean().nullable().describe('Null: nothing was heard of it yet'),
  options_ms: z.int().nullable(),
}

export const TrunkView = z
  .object({
    id: z.uuid(),
    ...shown,
    status: z.object({
      registration: z.enum(['none', 'registering', 'registered', 'failed']),
      last_options_ms: z
        .int()
        .nullable()
        .describe('How long the last OPTIONS was answered after, by the first host that is there'),
      hosts: z
        .array(
          z.object({
            ...server,
            port: z.int().nullable(),
            targets: z
              .array(z.object({ ...server, port: z.int() }))
              .describe('The servers behind a host without a port'),
          }),
        )
        .describe('As of the engine that looks after the trunk'),
      last_error: z.string().nullable(),
      changed_at: z.string().nullable(),
    }),
    created_at: z.string(),
  })
  .meta({ id: 'Trunk' })

export const TrunkPath = z.object({ trunk_id: z.uuid() })
