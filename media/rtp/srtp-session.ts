/**
 * Encryption between the sockets of one call and its RTP: opens and seals packets with keys from signalling (SDES), or
 * from DTLS on the sockets themselves. Without keys, packets pass unchanged.
 */
import type { Clock } from '../shared/clock.ts'
import type { Address } from './address.ts'
import { Dtls, sameAddress } from './dtls.ts'
import type { DtlsIdentity, Fingerprint } from './dtls-crypto.ts'
import type { DtlsRole, SrtpKeys } from './dtls-handshake.ts'
import { looksLikeDtls } from './dtls-wire.ts'
import { SrtpReceiver, SrtpSender } from './srtp.ts'
import type { MasterKey } from './srtp-keys.ts'

export type RtpSecurity =
  | { kind: 'none' }
  | { kind: 'sdes'; send: MasterKey; receive: MasterKey }
  /** Without rtcp-mux, RTCP has a DTLS handshake of its own (RFC 5764 §4.1). */
  | { kind: 'dtls'; role: DtlsRole; fingerprints: readonly Fingerprint[] }

export const NO_SECURITY: RtpSecurity = { kind: 'none' }

/** One of the two sockets. */
export type Channel = 'rtp' | 'rtcp'

export interface SrtpSessionOptions {
  /** Null disables DTLS. */
  identity: DtlsIdentity | null
  clock: Clock
  send(channel: Channel, datagram: Buffer, to: Address): void
  /** Called when the media cannot be encrypted. `words` is the reason for the log. */
  onFailed(words: string): void
}

interface Context {
  sender: SrtpSender
  receiver: SrtpReceiver
}

export class SrtpSession {
  readonly #options: SrtpSessionOptions
  #security: RtpSecurity = NO_SECURITY
  #remote: Record<Channel, Address> | null = null
  #muxed = false
  readonly #contexts: Record<Channel, Context | null> = { rtp: null, rtcp: null }
  readonly #dtls: Record<Channel, Dtls | null> = { rtp: null, rtcp: null }

  constructor(options: SrtpSessionOptions) {
    this.#options = options
  }

  /** False while required keys are missing: nothing may be sent. */
  get ready(): boolean {
    return this.#security.kind === 'none' || this.#contexts.rtp !== null
  }

  /** Applies negotiated security. Unchanged keys or fingerprints keep their state. `muxed`: rtcp-mux (RFC 5761). */
  configure(security: RtpSecurity, remote: Record<Channel, Address>, muxed: boolean): void {
    const remuxed = muxed !== this.#muxed
    this.#muxed = muxed
    const moved = !this.#remote || !sameAddress(remote.rtp, this.#remote.rtp)
    const before = this.#security
    this.#security = security
    this.#remote = remote
    if (security.kind !== 'dtls') this.#closeDtls()
    switch (security.kind) {
      case 'none':
        this.#contexts.rtp = null
        this.#contexts.rtcp = null
        return
      case 'sdes':
        this.#key('rtp', security)
        // One key has one SRTCP index, whatever socket carries the reports.
        this.#contexts.rtcp = this.#contexts.rtp
        return
      case 'dtls':
        // Without ICE, a new address requires a new association (RFC 8842 §4); its keys replace the previous ones.
        if (before.kind !== 'dtls' || moved || remuxed || !sameFingerprints(before, security))
          this.#openDtls(security, remote)
    }
  }

  /** Returns a datagram as plain RTP or RTCP; `clear` is null for DTLS and rejected datagrams. */
  open(data: Buffer, from: Address, channel: Channel, rtcp: boolean): { clear: Buffer | null; rejected: boolean } {
    if (this.#security.kind === 'none') return { clear: data, rejected: false }
    if (looksLikeDtls(data)) {
      const dtls = this.#dtls[channel]
      dtls?.receive(data, from)
      return { clear: null, rejected: dtls === null }
    }
    const receiver = this.#contexts[channel]?.receiver
    const clear = (rtcp ? receiver?.rtcp(data) : receiver?.rtp(data)) ?? null
    return { clear, rejected: clear === null }
  }

  /** Returns the packet to send instead of `packet`; null when nothing may be sent. */
  sealRtp(packet: Buffer): Buffer | null {
    return this.#security.kind === 'none' ? packet : (this.#contexts.rtp?.sender.rtp(packet) ?? null)
  }

  sealRtcp(packet: Buffer): Buffer | null {
    if (this.#security.kind === 'none') return packet
    return this.#contexts[this.rtcpChannel]?.sender.rtcp(packet) ?? null
  }

  get rtcpChannel(): Channel {
    return this.#muxed ? 'rtp' : 'rtcp'
  }

  close(): void {
    this.#closeDtls()
  }

  #closeDtls(): void {
    for (const channel of ['rtp', 'rtcp'] as const) {
      this.#dtls[channel]?.close()
      this.#dtls[channel] = null
    }
  }

  #openDtls(security: RtpSecurity & { kind: 'dtls' }, remote: Record<Channel, Address>): void {
    this.#closeDtls()
    const { identity } = this.#options
    if (identity === null) throw new Error('DTLS was negotiated without a local certificate')
    const { role, fingerprints } = security
    for (const channel of this.#muxed ? (['rtp'] as const) : (['rtp', 'rtcp'] as const)) {
      this.#dtls[channel] = new Dtls({
        identity,
        role,
        fingerprints,
        target: remote[channel],
        clock: this.#options.clock,
        send: (datagram, to) => this.#options.send(channel, datagram, to),
        onKeys: keys => this.#key(channel, keys),
        // A failure for RTCP is tolerated: media continues without reports.
        onFailed: words => channel === 'rtp' && this.#options.onFailed(words),
      })
    }
  }

  #key(channel: Channel, { send, receive }: SrtpKeys): void {
    const before = this.#contexts[channel]
    this.#contexts[channel] = {
      sender: before?.sender.key.equals(send) ? before.sender : new SrtpSender(send, before?.sender),
      receiver: before?.receiver.key.equals(receive) ? before.receiver : new SrtpReceiver(receive, before?.receiver),
    }
  }
}

type ByDtls = RtpSecurity & { kind: 'dtls' }

function sameFingerprints(a: ByDtls, b: ByDtls): boolean {
  const said = ({ role, fingerprints }: ByDtls) => `${role} ${fingerprints.map(({ value }) => value).sort()}`
  return said(a) === said(b)
}
