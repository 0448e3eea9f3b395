/** What is tried with whom: tests and the README's table both come from this list, so that neither has a cell the other lacks. */

/** Of a call between us and a peer, as the table heads them; and what a tick says. */
export const FEATURES = {
  inbound: 'the peer calls, sound goes both ways, the peer hangs up',
  outbound: 'we call, sound goes both ways, we hang up',
  digest: 'who is asked for proof gives it, and calls go on: the peer registers with us, or we with it',
  DTMF: 'keys, both ways',
  hold: 'the peer holds, and no sound goes either way; it resumes, and sound does too',
  're-INVITE': 'the peer offers anew inside the call, and sound goes on',
  transfer: 'it takes our REFER, calls whom we name, tells us by NOTIFY, and our call ends',
  'early media': 'its sound before the answer to a call of ours crosses the wire, and is not taken for speech',
  CANCEL: 'by us while it rings there, and by the peer before we answer',
  timeouts: 'it never answers, and is canceled; its sound stops, and the call is ended',
} as const
export type Feature = keyof typeof FEATURES

interface PeerRow {
  /** As the table names it. */
  name: string
  /** Under `test/`. */
  file: string
  /** What is not tried with it, and why. */
  not: Partial<Record<Feature, string>>
}

const BARESIP = {
  file: 'interop/baresip.test.ts',
  not: { 'early media': 'it answers 183, and sends no sound until 200' },
} as const

export const PEERS = {
  sipp: { name: 'sipp', file: 'interop/sipp.test.ts', not: {} },
  'baresip-udp': { name: 'baresip, UDP', ...BARESIP },
  'baresip-tcp': { name: 'baresip, TCP', ...BARESIP },
  'baresip-tls': { name: 'baresip, TLS', ...BARESIP },
  'baresip-sdes': { name: 'baresip, SRTP (SDES)', ...BARESIP },
  'baresip-dtls': { name: 'baresip, SRTP (DTLS)', ...BARESIP },
  'baresip-g722': { name: 'baresip, G.722', ...BARESIP },
  'baresip-opus': { name: 'baresip, Opus', ...BARESIP },
  kamailio: { name: 'Kamailio (registrar, proxy) with rtpengine', file: 'interop/kamailio.test.ts', not: {} },
  linphone: { name: "Linphone's command line", file: 'interop/linphone.test.ts', not: {} },
  'drachtio-srf': {
    name: "drachtio-srf's own tests",
    file: 'sip/srf-suite.integration.test.ts',
    not: { DTMF: 'it has no test of keys', hold: 'it has no test of hold' },
  },
} as const satisfies Record<string, PeerRow>
export type PeerName = keyof typeof PEERS

/** Of one peer: all features but those that are not tried. */
export type Tried<P extends PeerName> = Exclude<Feature, keyof (typeof PEERS)[P]['not']>

export const featuresOf = (peer: PeerName): Feature[] =>
  (Object.keys(FEATURES) as Feature[]).filter(feature => !(feature in PEERS[peer].not))
