/** Which features are tested with which peer. The tests and the table of docs/interop.md are both made from this list. */

/** Headings of the table, and what each tick means. */
export const FEATURES = {
  inbound: 'the peer calls, audio flows in both directions, the peer hangs up',
  outbound: 'Parley calls, audio flows in both directions, Parley hangs up',
  digest: 'the challenged side authenticates and calls continue: the peer registers with Parley, or Parley with it',
  DTMF: 'keys in both directions',
  hold: 'the peer holds and no audio flows in either direction; it resumes and audio flows again',
  're-INVITE': 'the peer sends a new offer within the call, and audio continues',
  transfer: 'the peer accepts a REFER, calls the target, reports by NOTIFY, and the original call ends',
  'early media': 'audio of the peer before it answers arrives and is not taken for speech',
  CANCEL: 'from Parley while the peer rings, and from the peer before Parley answers',
  timeouts: 'a peer that never answers is canceled; a call whose audio stops is ended',
} as const
export type Feature = keyof typeof FEATURES

interface PeerRow {
  /** As the table names it. */
  name: string
  /** Under `test/`. */
  file: string
  /** Features that are not tested with it, with the reason. */
  not: Partial<Record<Feature, string>>
}

const BARESIP = {
  file: 'interop/baresip.test.ts',
  not: { 'early media': 'it answers 183 and sends no audio before 200' },
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
    not: { DTMF: 'it has no test of DTMF', hold: 'it has no test of hold' },
  },
} as const satisfies Record<string, PeerRow>
export type PeerName = keyof typeof PEERS

/** Features that are tested with a peer. */
export type Tried<P extends PeerName> = Exclude<Feature, keyof (typeof PEERS)[P]['not']>

export const featuresOf = (peer: PeerName): Feature[] =>
  (Object.keys(FEATURES) as Feature[]).filter(feature => !(feature in PEERS[peer].not))
