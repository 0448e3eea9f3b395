/** Diagnoses answered calls: missing audio, and answers without ACK. Pure. */
import type { Diagnosis } from '../../../media/contract/sip-trace.ts'
import { isLoopback } from '../../server/transport.ts'
import { directionOf } from '../../text/sdp.ts'
import {
  audioOf,
  type Case,
  codecsIn,
  type Facts,
  finalOf,
  header,
  hostOfEnd,
  hostOfUri,
  isPrivate,
  isPublic,
  methodOf,
  type Read,
  sdpOf,
} from './facts.ts'
import { makeDiagnosis } from './transport.ts'

/** Three seconds of packets: any far end with a microphone has sent something by then. */
const ENOUGH_PACKETS = 150

type Answered = { readonly facts: Facts; readonly given: Case; readonly invite: Read; readonly answer: Read }

export function answeredCall(facts: Facts, given: Case): Diagnosis | null {
  const exchange = facts.exchanges.findLast(
    ({ method, request }) => method === 'INVITE' && !/;\s*tag=/i.test(header(request, 'To')),
  )
  const answer = exchange === undefined ? null : finalOf(exchange)
  if (exchange === undefined || answer === null) return null
  const answered = { facts, given, invite: exchange.request, answer }
  return notAcknowledged(answered) ?? unreadable(answered) ?? silent(answered)
}

const ofPeer = ({ invite, answer }: Answered): Read => (invite.seen.sent ? answer : invite)
const ofUs = ({ invite, answer }: Answered): Read => (invite.seen.sent ? invite : answer)
const peerHost = ({ invite, answer }: Answered): string =>
  hostOfEnd(invite.seen.sent ? answer.seen.source : invite.seen.source)

const addressOf = (read: Read): string => {
  const sdp = sdpOf(read)
  return audioOf(sdp)?.address ?? sdp?.address ?? ''
}

/** True when a description contains a private address of ours and the far end is public. */
function ourPrivate(answered: Answered, address: string): boolean {
  const peer = peerHost(answered)
  return isPublic(peer) && (isPrivate(address) || isLoopback(address))
}

const BEHIND_NAT =
  'Set the platform’s public address, forward the SIP port and the RTP port range to it, and turn off “SIP ALG” in the router.'

function notAcknowledged(answered: Answered): Diagnosis | null {
  const { facts, invite, answer } = answered
  if (invite.seen.sent) return null
  const acknowledged = facts.all.some(read => methodOf(read) === 'ACK' && !read.seen.sent)
  const bye = facts.all.find(
    read => methodOf(read) === 'BYE' && read.seen.sent && /ACK timeout/i.test(header(read, 'Reason')),
  )
  if (acknowledged || bye === undefined) return null
  const contact = hostOfUri(header(answer, 'Contact'))
  if (ourPrivate(answered, contact)) {
    const message = `The carrier’s ACK never arrived: our Contact is the private address ${contact}, which ${peerHost(answered)} cannot reach.`
    return makeDiagnosis('nat_address', message, BEHIND_NAT, answer, bye)
  }
  const message = `The carrier never acknowledged our answer (no ACK), so the call was ended.`
  const advice = `Its ACK goes to ${header(answer, 'Contact').replace(/^.*<|>.*$/g, '')}: check that the carrier can reach that address and port.`
  return makeDiagnosis('no_ack', message, advice, answer, bye)
}

/** The peer's description is missing or unusable, so we ended the call at once. */
function unreadable(answered: Answered): Diagnosis | null {
  const { reason } = answered.given
  const [offer, answer] = [audioOf(sdpOf(ofUs(answered))), sdpOf(ofPeer(answered))]
  const evidence = [answered.invite, answered.answer]
  if (reason === 'bad_sdp') {
    const message = 'The carrier’s session description (SDP) is missing or malformed.'
    return makeDiagnosis(
      'bad_sdp',
      message,
      'Show this message to the carrier: its body does not follow RFC 8866.',
      ...evidence,
    )
  }
  if (reason !== 'no_common_codec') return null
  const message = `The carrier answered with ${codecsIn(audioOf(answer)) || 'no audio'}, which we did not offer. We offered: ${codecsIn(offer)}.`
  return makeDiagnosis('codec_refused', message, 'Allow one of its codecs in the trunk’s settings.', ...evidence)
}

function silent(answered: Answered): Diagnosis | null {
  const { facts, given } = answered
  const { media, reason } = given
  if (media === null || media.packets_received > 0) return null
  if (media.packets_sent < ENOUGH_PACKETS && reason !== 'media_timeout') return null
  // The latest description counts: a call on hold is silent for a valid reason.
  const described = facts.all.findLast(read => !read.seen.sent && sdpOf(read) !== null) ?? ofPeer(answered)
  const sdp = sdpOf(described)
  const audio = audioOf(sdp)
  const direction = sdp === null || audio === null ? 'sendrecv' : directionOf(sdp, audio)
  if (direction === 'inactive' || direction === 'recvonly') return null
  const [ours, theirs] = [addressOf(ofUs(answered)), addressOf(described)]
  if (ourPrivate(answered, ours)) {
    const message = `We sent audio and received none: we asked ${peerHost(answered)} to send it to the private address ${ours}.`
    return makeDiagnosis('nat_address', message, BEHIND_NAT, ofUs(answered), described)
  }
  if (isPrivate(theirs) && !isPrivate(peerHost(answered))) {
    const message = `We sent audio and received none: the carrier asks for it at the private address ${theirs}, but its signalling comes from ${peerHost(answered)}.`
    const advice =
      'The PBX or the router in front of it must use its public address (“external IP”), or send audio first so that we learn its address.'
    return makeDiagnosis('nat_address', message, advice, described)
  }
  if (media.packets_rejected > 0) {
    const message = `${media.packets_rejected} audio packets arrived, none from the address that the carrier announced (${theirs}).`
    return makeDiagnosis(
      'one_way_audio',
      message,
      'Audio from another address is rejected. Ask the carrier to put the right address in its SDP.',
      described,
    )
  }
  const port = audioOf(sdpOf(ofUs(answered)))?.port ?? '?'
  const message = `We sent ${media.packets_sent} audio packets and received none.`
  const advice = `We expect audio at ${ours}:${port} (UDP). Check that the firewall admits the RTP port range.`
  return makeDiagnosis('one_way_audio', message, advice, ofUs(answered), described)
}
