import { createSocket } from 'node:dgram'
import { isIP } from 'node:net'
import { CODECS } from '../../../media/audio/codec.ts'
import type { TrunkPlan } from '../../../media/contract/plan.ts'
import type { RtpParams, RtpSession } from '../../../media/rtp/session.ts'
import { isPublic } from '../../../media/shared/addresses.ts'
import { localSecurity } from '../../text/crypto-agree.ts'
import type { AgreedAudio, LocalAudio } from '../../text/offer.ts'

/** RTP for calls. */
export type MediaOptions = {
  /** Opens the RTP session of one call. */
  open(): Promise<RtpSession>
  /** The address advertised to peers on the internet (1:1 NAT); null for the address this machine uses towards them. */
  advertise: string | null
  /** The SHA-256 fingerprint of `open`'s DTLS certificate, as in a=fingerprint; no DTLS when left out. */
  fingerprint?: string
}

/** A trunk's media preferences. */
export type MediaPreferences = Pick<LocalAudio, 'codecs' | 'security'>

export function mediaPreferences(media: MediaOptions, trunk: Pick<TrunkPlan, 'codecs' | 'srtp'>): MediaPreferences {
  return { codecs: trunk.codecs, security: localSecurity(trunk.srtp, media.fingerprint ?? null) }
}

let sessions = 0

/** Our side of one call's description (RFC 3264 §5: the id is unique to us, the version starts at any number). */
export function localAudio(rtp: RtpSession, address: string, wishes: MediaPreferences): LocalAudio {
  sessions += 1
  const sessionId = `${Date.now()}${sessions % 1000}`
  return { address, port: rtp.local.port, sessionId, version: 1, ...wishes }
}

export function rtpParams(audio: AgreedAudio): RtpParams {
  const { remote, rtcp, rtcpMux, codec, payloadType, receive, dtmf, ptime, opus, direction, security } = audio
  return {
    remote,
    rtcp,
    rtcpMux,
    security,
    codec,
    payloadType,
    dtmfPayloadType: dtmf?.send ?? null,
    ...(dtmf === null ? {} : { dtmfClockRate: dtmf.clockRate }),
    receive: {
      formats: new Map(receive.map(format => [format.payloadType, format.codec])),
      dtmfPayloadTypes: dtmf?.receive ?? [],
    },
    ptimeMs: ptime,
    opus,
    direction,
  }
}

/** Sample rate of a leg in Hz; while an answer to our offer is due, that of the best codec it may choose. */
export function sampleRateOf(audio: AgreedAudio | null, local: LocalAudio): number {
  if (audio !== null) return CODECS[audio.codec].sampleRate
  return Math.max(...local.codecs.map(codec => CODECS[codec].sampleRate))
}

const isWildcard = (address: string): boolean => address === '0.0.0.0' || address === '::'

/**
 * The address to advertise to a peer: as configured, as bound, or from the kernel's routing table. A peer in our own
 * network gets the local address, because most NATs do not route a packet out and back in.
 */
export async function advertisedAddress(options: MediaOptions, rtp: RtpSession, peer: string): Promise<string> {
  const { advertise } = options
  if (advertise !== null && isOutside(peer, isIP(advertise))) return advertise
  return isWildcard(rtp.local.address) ? routedAddress(peer) : rtp.local.address
}

const isOutside = (peer: string, family: number): boolean => {
  const of = isIP(peer)
  return of === 0 || (of === family && isPublic(peer))
}

/** Connecting a UDP socket sends nothing, but makes the kernel choose the source address. */
function routedAddress(peer: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = createSocket(peer.includes(':') ? 'udp6' : 'udp4')
    socket.once('error', error => {
      socket.close()
      reject(error)
    })
    socket.connect(9, peer, () => {
      const { address } = socket.address()
      socket.close()
      resolve(address)
    })
  })
}
