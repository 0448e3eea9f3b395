import { z } from 'zod'
import { CodecName } from '../../../media/contract/plan.ts'
import { SHORTEST_PREFIX } from '../../../media/shared/addresses.ts'
import { Language } from '../../agents/projects/schema.ts'
import { Phone, Region } from '../../platform/phone.ts'

const Host = z
  .string()
  .max(253)
  .regex(/^[A-Za-z0-9.:_-]+$/, 'must be a host name or an address')

/** Values used in SIP messages, where a line break would start another header. */
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
    'Null: DNS records of the host determine its servers (RFC 3263: NAPTR, SRV, otherwise its address and the default port), ' +
      'and with `udp` as transport also the transport',
  )
const FurtherHost = z.strictObject({ host: Host, port: port.default(5060), transport: transport.default('udp') })

/** Values used in SIP addresses, where these characters are delimiters. */
const word = line.min(1).regex(/^[^\s<>"@]*$/, 'must be one word without <, >, " and @')

const shown = {
  name: z.string().trim().min(1).max(200),
  mode: z
    .enum(['register', 'ip', 'both'])
    .describe('`register`: register at the host; `ip`: accept calls by source address; `both`'),
  host: Host,
  port,
  transport,
  hosts: z
    .array(FurtherHost)
    .max(10)
    .describe('Failover hosts, tried in this order when `host` does not respond or returns 503'),
  options_interval_seconds: z
    .int()
    .min(10)
    .max(3600)
    .nullable()
    .describe('Seconds between OPTIONS requests to each host. Null: none'),
  username: line.min(1).nullable(),
  realm: line.nullable(),
  outbound_proxy: line.nullable(),
  allowed_ips: z
    .array(z.string().max(64))
    .max(100)
    .describe(
      `IP addresses and CIDR networks that calls of this trunk may come from, besides its hosts. Prefixes are /${SHORTEST_PREFIX.ipv4} ` +
        `or longer (IPv4), /${SHORTEST_PREFIX.ipv6} or longer (IPv6), and the addresses public, unless the operator allows others. ` +
        'These sources may place calls only: other requests are not answered',
    ),
  codecs: z
    .array(CodecName)
    .min(1)
    .refine(codecs => new Set(codecs).size === codecs.length, { error: 'must not repeat' })
    .meta({ uniqueItems: true })
    .describe("Codecs offered in outbound calls, in order of preference. In inbound calls, the caller's order applies"),
  srtp: z
    .enum(['off', 'optional', 'required'])
    .describe(
      'SRTP with DTLS or SDES. `optional` encrypts if the other side supports it; `required` rejects unencrypted calls. ' +
        'SDES keys are sent in the signalling, so use `tls` as transport',
    ),
  max_calls: z
    .int()
    .min(1)
    .max(100_000)
    .nullable()
    .describe(
      'Maximum concurrent call legs in both directions; further calls are rejected. A bridged call (see `transfer`) uses two legs; if no second leg is free, the agent gets an error',
    ),
  max_cps: z.int().min(1).max(1000).nullable().describe('Maximum calls per second; further calls wait'),
  from_user: word
    .nullable()
    .describe('User part of the From header, if the carrier requires the account there. Null: the calling number'),
  from_domain: Host.nullable().describe('Domain of the From header and of the account, if it differs from `host`'),
  pai: z.enum(['always', 'never']).describe('Whether to send the calling number in P-Asserted-Identity'),
  privacy: z
    .enum(['none', 'id'])
    .describe('`id`: hide the number from the callee. If the carrier must know it, also set `pai`'),
  number_format: z
    .enum(['plus', 'national', 'digits'])
    .describe('Number format of the carrier: +49301234, 0301234 or 49301234'),
  region: Region.nullable().describe(
    "Country of the carrier's national numbers. Null: the country of the first number",
  ),
  transfer: z
    .enum(['refer', 'bridge'])
    .describe(
      'How calls are transferred. `refer`: the carrier connects the parties; if it refuses, the destination is called over this trunk. `bridge`: the destination is always called over this trunk, and the call stays connected through us and recorded',
    ),
  fallback_number: Phone.nullable().describe(
    'Number to which the carrier redirects (302) calls that cannot be accepted. Null: they are rejected',
  ),
  refusal_announcement: z
    .string()
    .trim()
    .min(1)
    .max(300)
    .nullable()
    .describe(
      'Announcement for callers who are rejected because of missing balance, subscription, capacity or an unassigned ' +
        'number. Played as early media (183), unbilled, for at most 15 s. Not used with `fallback_number`. Null: none',
    ),
  refusal_language: Language.describe('Language of `refusal_announcement`'),
  numbers: z
    .array(Phone)
    .max(1000)
    .refine(numbers => new Set(numbers).size === numbers.length, { error: 'must not repeat' })
    .meta({ uniqueItems: true }),
}
const password = line.min(1).nullable().describe('Write-only')

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
  // Carriers transcode wideband to G.711 anyway, so G.711 comes first. With Opus, an INVITE would exceed the UDP limit
  // of some carriers.
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
  host: z.string(),
  transport,
  alive: z.boolean().nullable().describe('Whether the host responds. Null: unknown'),
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
        .describe('Response time of the last OPTIONS of the first reachable host, in milliseconds'),
      hosts: z
        .array(
          z.object({
            ...server,
            port: z.int().nullable(),
            targets: z.array(z.object({ ...server, port: z.int() })).describe('Servers of a host without a port'),
          }),
        )
        .describe('Hosts as seen by the engine that serves the trunk'),
      last_error: z.string().nullable(),
      changed_at: z.string().nullable(),
    }),
    created_at: z.string(),
  })
  .meta({ id: 'Trunk' })

export const TrunkPath = z.object({ trunk_id: z.uuid() })
