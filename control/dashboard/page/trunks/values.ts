/** Converts a trunk between its form and the API. Empty strings in the form stand for null. */
import type { paths } from '../../../api/client/api.ts'
import type { Schemas } from '../api/types.ts'
import { readPhone } from '../ui/phone.ts'

export type Trunk = Schemas['Trunk']
export type TrunkBody = paths['/v1/public/trunks']['post']['requestBody']['content']['application/json']
export type TrunkPatch = NonNullable<
  paths['/v1/public/trunks/{trunk_id}']['patch']['requestBody']
>['content']['application/json']
export type Codec = Trunk['codecs'][number]
type Transport = Trunk['transport']
/** Value of a number input; the empty string if it is blank. */
type Count = number | ''

export interface TrunkValues
  extends Pick<
    Trunk,
    'name' | 'mode' | 'host' | 'transport' | 'codecs' | 'srtp' | 'pai' | 'privacy' | 'number_format' | 'transfer'
  > {
  port: Count
  hosts: { host: string; port: Count; transport: Transport }[]
  options_interval_seconds: Count
  username: string
  password: string
  realm: string
  outbound_proxy: string
  from_user: string
  from_domain: string
  /** One number per line. */
  allowed_ips: string
  max_calls: Count
  max_cps: Count
  region: string
  fallback_number: string
  refusal_announcement: string
  refusal_language: string
  /** One address per line. */
  numbers: string
}

export const codecs = ['PCMA', 'PCMU', 'G722', 'opus'] as const satisfies Codec[]

/** The API's defaults, except that OPTIONS monitoring is on. */
export const emptyValues: TrunkValues = {
  name: '',
  mode: 'register',
  host: '',
  port: 5060,
  transport: 'udp',
  hosts: [],
  options_interval_seconds: 60,
  username: '',
  password: '',
  realm: '',
  outbound_proxy: '',
  from_user: '',
  from_domain: '',
  allowed_ips: '',
  codecs: ['PCMA', 'PCMU', 'G722'],
  srtp: 'off',
  max_calls: '',
  max_cps: '',
  pai: 'never',
  privacy: 'none',
  number_format: 'plus',
  region: '',
  transfer: 'refer',
  fallback_number: '',
  refusal_announcement: '',
  refusal_language: 'en',
  numbers: '',
}

export function valuesOf(trunk: Trunk): TrunkValues {
  const { id: _id, status: _status, created_at: _created, ...shown } = trunk
  return {
    ...shown,
    password: '',
    port: shown.port ?? '',
    hosts: shown.hosts.map(host => ({ ...host, port: host.port ?? '' })),
    options_interval_seconds: shown.options_interval_seconds ?? '',
    username: shown.username ?? '',
    realm: shown.realm ?? '',
    outbound_proxy: shown.outbound_proxy ?? '',
    from_user: shown.from_user ?? '',
    from_domain: shown.from_domain ?? '',
    allowed_ips: shown.allowed_ips.join('\n'),
    max_calls: shown.max_calls ?? '',
    max_cps: shown.max_cps ?? '',
    region: shown.region ?? '',
    fallback_number: shown.fallback_number ?? '',
    refusal_announcement: shown.refusal_announcement ?? '',
    numbers: shown.numbers.join('\n'),
  }
}

const linesOf = (text: string) =>
  text
    .split(/[\n,;]+/)
    .map(line => line.trim())
    .filter(line => line !== '')
const orNull = (text: string) => text.trim() || null
const countOf = (count: Count) => (count === '' ? null : count)

/** Passes unreadable numbers on to the API, which reports the error at the field. */
const phoneOf = (text: string, region: string) => readPhone(text, orNull(region)) ?? text.replace(/[\s().-]/g, '')

export const numbersOf = ({ numbers, region }: Pick<TrunkValues, 'numbers' | 'region'>): string[] => [
  ...new Set(linesOf(numbers).map(line => phoneOf(line, region))),
]

/** Omits the password unless it was typed. */
function settingsOf({ password: _password, ...values }: TrunkValues): Omit<TrunkBody, 'password'> {
  const fallback = orNull(values.fallback_number)
  return {
    ...values,
    name: values.name.trim(),
    host: values.host.trim(),
    port: countOf(values.port),
    hosts: values.hosts.map(({ host, port, transport }) => ({ host: host.trim(), port: countOf(port), transport })),
    options_interval_seconds: countOf(values.options_interval_seconds),
    username: orNull(values.username),
    realm: orNull(values.realm),
    outbound_proxy: orNull(values.outbound_proxy),
    from_user: orNull(values.from_user),
    from_domain: orNull(values.from_domain),
    allowed_ips: linesOf(values.allowed_ips),
    max_calls: countOf(values.max_calls),
    max_cps: countOf(values.max_cps),
    region: orNull(values.region),
    fallback_number: fallback && phoneOf(fallback, values.region),
    refusal_announcement: orNull(values.refusal_announcement),
    refusal_language: values.refusal_language.trim(),
    numbers: numbersOf(values),
  }
}

export const bodyOf = (values: TrunkValues): TrunkBody => ({
  ...settingsOf(values),
  ...(values.password === '' ? {} : { password: values.password }),
})

/**
 * Returns only the changed fields, so that changes made elsewhere are kept. Removing the user name removes the
 * password.
 */
export function patchOf(before: TrunkValues, after: TrunkValues): TrunkPatch {
  const [old, now] = [settingsOf(before), settingsOf(after)]
  const changed = Object.entries(now).filter(
    ([field, value]) => JSON.stringify(value) !== JSON.stringify(old[field as keyof typeof old]),
  )
  const emptied = old.username !== null && now.username === null
  const password = after.password === '' ? (emptied ? { password: null } : {}) : { password: after.password }
  return { ...Object.fromEntries(changed), ...password }
}
