import { createSocket } from 'node:dgram'
import type { TrunkPlan } from '../../media/contract/plan.ts'
import type { RtpParams, RtpSession } from '../../media/rtp/session.ts'
import type { AgreedAudio, LocalAudio } from '../text/offer.ts'

/** Where the sound of calls goes in and out. */
export type MediaOptions = {
  /** Opens the RTP of one call. */
  open(): Promise<RtpSession>
  /** What peers are told to send to; null: the address this machine uses towards them. */
  advertise: string | null
}

let sessions = 0

/** Our side of the description of one call (RFC 3264 §5: the id is ours alone, the version starts anywhere). */
export function localAudio(rtp: RtpSession, address: string, codecs: TrunkPlan['codecs']): LocalAudio {
  sessions += 1
  return { address, port: rtp.local.port, codecs, sessionId: `${Date.now()}${sessions % 1000}`, version: 1 }
}

export function rtpParams(audio: AgreedAudio): RtpParams {
  const { remote, codec, payloadType, dtmf, direction } = audio
  return { remote, codec, payloadType, dtmfPayloadType: dtmf?.receive ?? null, direction }
}

const isWildcard = (address: string): boolean => address === '0.0.0.0' || address === '::'

/** The address to advertise to a peer: as configured, as bound, or what the kernel's routing table says. */
export async function advertisedAddress(options: MediaOptions, rtp: RtpSession, peer: string): Promise<string> {
  if (options.advertise !== null) return options.advertise
  return isWildcard(rtp.local.address) ? routedAddress(peer) : rtp.local.address
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
