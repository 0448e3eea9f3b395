import { createSocket } from 'node:dgram'
import { isIP } from 'node:net'
import { CODECS } from '../../../media/audio/codec.ts'
import type { TrunkPlan } from '../../../media/contract/plan.ts'
import type { RtpParams, RtpSession } from '../../../media/rtp/session.ts'
import { isPublic } from '../../../media/shared/addresses.ts'
import { localSecurity } from '../../text/crypto-agree.ts'
import type { AgreedAudio, LocalAudio } from '../../text/offer.ts'

/** Where the sound of calls goes in and out. */
export type MediaOptions = {
  /** Opens the RTP of one call. */
  open(): Promise<RtpSession>
  /** What peers on the internet are told to send to (1:1 NAT); null: the address this machine uses towards them. */
  advertise: string | null
  /** Of the certificate that `open` has for DTLS: SHA-256 as in a=fingerprint; no DTLS unless given. */
  fingerprint?: string
}

/** What a trunk wants of its sound. */
export type Wishes = Pick<LocalAudio, 'codecs' | 'security'>

export function wishesOf(media: MediaOptions, trunk: Pick<TrunkPlan, 'codecs' | 'srtp'>): Wishes {
  return { codecs: trunk.codecs, security: localSecurity(trunk.srtp, media.fingerprint ?? null) }
}

let sessions = 0

/** Our side of the description of one call (RFC 3264 §5: the id is ours alone, the version starts anywhere). */
export function localAudio(rtp: RtpSession, address: string, wishes: Wishes): LocalAudio {
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

/** Of a leg's sound, in Hz; while the answer to an offer of ours is due, that of the best it may bring. */
export function sampleRateOf(audio: AgreedAudio | null, local: LocalAudio): number {
  if (audio !== null) return CODECS[audio.codec].sampleRate
  return Math.max(...local.codecs.map(codec => CODECS[codec].sampleRate))
}

const isWildcard = (address: string): boolean => address === '0.0.0.0' || address === '::'

/**
 * The address to advertise to a peer: as configured, as bound, or what the kernel's routing table says. A peer in our own
 * network gets ours: the way out through the NAT and back in is closed on most.
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
