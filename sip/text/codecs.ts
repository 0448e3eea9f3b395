/**
 * Codec negotiation: the formats that two descriptions have in common, and how they are written (RFC 3264, 3551, 4733,
 * 7587). Pure.
 */
import type { CodecName } from '../../media/contract/plan.ts'
import { attributesOf, type MediaSection, type SdpAttribute } from './sdp.ts'

export type { CodecName }

/** A codec with its payload type. */
export type CodecFormat = { readonly codec: CodecName; readonly payloadType: number }

/** The far end's preferences for Opus (RFC 7587 §6.1). */
export type OpusPreferences = { readonly fec: boolean; readonly maxBitrate: number | null }

export type AgreedCodecs = {
  /** The codec we send, under the far end's payload type. */
  readonly codec: CodecName
  readonly payloadType: number
  /** All formats that the far end may send. */
  readonly receive: readonly CodecFormat[]
  /** telephone-event for each direction and its clock rate in Hz; null when the far end has none. */
  readonly dtmf: AgreedDtmf | null
  /** Packet time in ms that the far end prefers to receive: 10 to 60, and supported by the codec. */
  readonly ptime: number
  readonly opus: OpusPreferences
}

export type AgreedDtmf = {
  readonly send: number
  /** Payload types to receive; the first is the one to write into an answer. */
  readonly receive: readonly number[]
  readonly clockRate: number
}

type Encoding = {
  readonly payloadType: number
  /** Upper case. */
  readonly name: string
  readonly clockRate: number
  readonly channels: number
}

type Written = { readonly payloadType: number; readonly rtpmap: string; readonly clockRate: number }
/** Payload types of our offers, and their rtpmap values. */
const OURS: Readonly<Record<CodecName, Written>> = {
  PCMU: { payloadType: 0, rtpmap: 'PCMU/8000', clockRate: 8000 },
  PCMA: { payloadType: 8, rtpmap: 'PCMA/8000', clockRate: 8000 },
  G722: { payloadType: 9, rtpmap: 'G722/8000', clockRate: 8000 },
  opus: { payloadType: 111, rtpmap: 'opus/48000/2', clockRate: 48_000 },
}
/** Codecs of payload types without rtpmap (RFC 3551 table 4). */
const STATIC: Readonly<Record<number, CodecName>> = { 0: 'PCMU', 8: 'PCMA', 9: 'G722' }
/** Our payload types for telephone-event by clock rate, which equals that of the codec (RFC 4733 §2.1). */
const OUR_EVENTS: Readonly<Record<number, number>> = { 8000: 101, 48000: 110 }
/** We process at most 16 kHz, so the peer need not send more. We send mono, which is the default. */
const OPUS_PARAMETERS = 'maxplaybackrate=16000;sprop-maxcapturerate=16000;useinbandfec=1'
const EVENTS = 'TELEPHONE-EVENT'

const DEFAULT_PTIME = 20
const MOST_PTIME = 60
/** Packet times that Opus supports (RFC 6716 §2.1.4), for what we send. */
const OPUS_PTIMES = [60, 40, 20, 10]

type Formats = { readonly formats: readonly number[]; readonly attributes: readonly SdpAttribute[] }

/** Formats of our offer, best first, with telephone-event at each of their clock rates. */
export function offeredFormats(codecs: readonly CodecName[], dtmf: boolean): Formats {
  const own = codecs.map((codec): CodecFormat => ({ codec, payloadType: OURS[codec].payloadType }))
  return written(own, dtmf ? ourEvents(codecs) : [])
}

type EventFormat = { readonly payloadType: number; readonly clockRate: number }

const ourEvents = (codecs: readonly CodecName[]): EventFormat[] =>
  [...new Set(codecs.map(codec => OURS[codec].clockRate))].map(clockRate => ({
    payloadType: OUR_EVENTS[clockRate]!,
    clockRate,
  }))

/** Formats of our answer: one codec and its telephone-event, under the payload types of the offer. */
export function answeredFormats({ codec, payloadType, dtmf }: AgreedCodecs): Formats {
  const events = dtmf === null ? [] : [{ payloadType: dtmf.receive[0]!, clockRate: dtmf.clockRate }]
  return written([{ codec, payloadType }], events)
}

function written(codecs: readonly CodecFormat[], events: readonly EventFormat[]): Formats {
  const attributes: SdpAttribute[] = []
  for (const { codec, payloadType } of codecs) {
    attributes.push(['rtpmap', `${payloadType} ${OURS[codec].rtpmap}`])
    if (codec === 'opus') attributes.push(['fmtp', `${payloadType} ${OPUS_PARAMETERS}`])
  }
  for (const { payloadType, clockRate } of events) {
    attributes.push(['rtpmap', `${payloadType} telephone-event/${clockRate}`], ['fmtp', `${payloadType} 0-16`])
  }
  attributes.push(['ptime', String(DEFAULT_PTIME)])
  if (codecs.some(({ codec }) => codec === 'opus')) attributes.push(['maxptime', String(MOST_PTIME)])
  return { formats: [...codecs, ...events].map(({ payloadType }) => payloadType), attributes }
}

/**
 * Intersects the far end's section with our codecs; its order of preference decides (RFC 3264 §6.1). Returns null when
 * there is no codec in common. `offered`: the section answers an offer of ours, so we receive under our payload types.
 */
export function agreeCodecs(
  section: MediaSection,
  ours: readonly CodecName[],
  wish: { readonly dtmf: boolean; readonly offered: boolean },
): AgreedCodecs | null {
  const encodings = section.formats.flatMap(format => encodingOf(section, format) ?? [])
  const common = encodings.flatMap((encoding): CodecFormat[] => {
    const codec = codecOf(encoding)
    return codec !== null && ours.includes(codec) ? [{ codec, payloadType: encoding.payloadType }] : []
  })
  const [first] = common
  if (first === undefined) return null
  return {
    ...first,
    receive: wish.offered ? withOurNumbers(common) : [first],
    dtmf: wish.dtmf ? agreeEvents(encodings, OURS[first.codec].clockRate, wish.offered ? ourEvents(ours) : []) : null,
    ptime: ptimeOf(section, first.codec),
    opus: opusWishes(section, first.payloadType),
  }
}

/** Adds the peer's own payload types: some peers answer with their own numbers and send under them. */
function withOurNumbers(common: readonly CodecFormat[]): CodecFormat[] {
  const formats = common.map(({ codec }): CodecFormat => ({ codec, payloadType: OURS[codec].payloadType }))
  const taken = new Set(formats.map(({ payloadType }) => payloadType))
  return [...formats, ...common.filter(({ payloadType }) => !taken.has(payloadType))]
}

/**
 * Prefers the telephone-event with the codec's clock rate; otherwise takes any, for softphones that write 8000 beside
 * Opus and use it.
 */
function agreeEvents(
  encodings: readonly Encoding[],
  clockRate: number,
  ours: readonly EventFormat[],
): AgreedDtmf | null {
  const events = encodings.filter(({ name }) => name === EVENTS)
  const theirs = events.find(event => event.clockRate === clockRate) ?? events[0]
  if (theirs === undefined) return null
  return {
    send: theirs.payloadType,
    receive: [...new Set([...ours.map(({ payloadType }) => payloadType), theirs.payloadType])],
    clockRate: theirs.clockRate,
  }
}

function codecOf({ name, clockRate, channels }: Encoding): CodecName | null {
  if (name === 'OPUS') return clockRate === 48_000 ? 'opus' : null
  if (channels !== 1) return null
  // Some peers write the sample rate, 16,000; RFC 3551 assigns 8000 by mistake.
  if (name === 'G722') return clockRate === 8000 || clockRate === 16_000 ? 'G722' : null
  return clockRate === 8000 && (name === 'PCMU' || name === 'PCMA') ? name : null
}

function encodingOf(section: MediaSection, format: string): Encoding | null {
  const payloadType = Number(format)
  if (!/^\d{1,3}$/.test(format) || payloadType > 127) return null
  for (const map of attributesOf(section, 'rtpmap')) {
    const parts = /^(\d+)\s+([^/\s]+)\/(\d+)(?:\/(\d+))?$/.exec(map)
    if (parts?.[1] !== format) continue
    const [, , name, clockRate, channels] = parts
    return { payloadType, name: name!.toUpperCase(), clockRate: Number(clockRate), channels: Number(channels ?? 1) }
  }
  const codec = STATIC[payloadType]
  return codec === undefined ? null : { payloadType, name: codec, clockRate: 8000, channels: 1 }
}

function ptimeOf(section: MediaSection, codec: CodecName): number {
  const most = tens(attributesOf(section, 'maxptime')[0]) ?? MOST_PTIME
  const wished = Math.min(tens(attributesOf(section, 'ptime')[0]) ?? DEFAULT_PTIME, most)
  return codec === 'opus' ? OPUS_PTIMES.find(ptime => ptime <= wished)! : wished
}

/** Clamps to 10…60 ms in steps of 10; null for an invalid value. */
function tens(text: string | undefined): number | null {
  const ms = Number(text)
  return text === undefined || !(ms > 0) ? null : Math.min(MOST_PTIME, Math.max(10, Math.floor(ms / 10) * 10))
}

/** Reads fmtp parameters for Opus (RFC 7587 §6.1). */
function opusWishes(section: MediaSection, payloadType: number): OpusPreferences {
  const parameters = attributesOf(section, 'fmtp').find(text => text.split(/\s/, 1)[0] === String(payloadType)) ?? ''
  const numberAt = (name: string): string | undefined =>
    new RegExp(`[\\s;]${name}\\s*=\\s*(\\d{1,7})(?:\\s*;|\\s*$)`, 'i').exec(parameters)?.[1]
  const maxBitrate = numberAt('maxaveragebitrate')
  return { fec: numberAt('useinbandfec') === '1', maxBitrate: maxBitrate === undefined ? null : Number(maxBitrate) }
}
