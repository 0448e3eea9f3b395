/** Lists the end reasons that have advice, each with the page it links to. */
import type { Schemas } from '../api/types.ts'

type Place = 'project' | 'trunks' | 'balance' | 'doNotCall'

const places = {
  silence_timeout: null,
  max_duration: 'project',
  balance_exhausted: 'balance',
  voicemail_hangup: 'project',
  media_timeout: null,
  connection_lost: null,
  encryption_failed: 'trunks',
  model_error: 'project',
  engine_lost: null,
  number_unknown: 'trunks',
  number_invalid: 'trunks',
  forbidden_by_carrier: null,
  auth_failed: 'trunks',
  no_common_codec: 'trunks',
  bad_sdp: null,
  trunk_unreachable: 'trunks',
  trunk_unknown: 'trunks',
  room_unreachable: null,
  carrier_error: null,
  carrier_congestion: 'trunks',
  queue_expired: null,
  do_not_call: 'doNotCall',
  no_capacity: null,
  internal_error: null,
} satisfies Partial<Record<NonNullable<Schemas['Call']['ended_reason']>, Place | null>>

export type Advised = keyof typeof places

export const adviceFor = (reason: string): Advised | null =>
  Object.hasOwn(places, reason) ? (reason as Advised) : null

export const linkOf = (reason: Advised): Place | null => places[reason]
