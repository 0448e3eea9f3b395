/**
 * What stands between the sockets of one call and its RTP: opens and seals packets with the keys that signalling has
 * agreed, or that DTLS agrees on the sockets themselves. Without an agreement on keys everything passes as it is.
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
  /** RTCP that has a socket of its own has a handshake of its own (RFC 5764 §4.1). */
  | { kind: 'dtls'; role: DtlsRole; fingerprints: readonly Fingerprint[] }

export const NO_SECURITY: RtpSecurity = { kind: 'none' }

/** Which of the two sockets. */
export type Channel = 'rtp' | 'rtcp'

export interface SrtpSessionOptions {
  /** Null: no DTLS here. */
  identity: DtlsIdentity | null
  clock: Clock
  send(channel: Channel, datagram: Buffer, to: Address): void
  /** The sound can't be secured, and never will be. */
  onFailed(words: string): void
}

type Context = { sender: SrtpSender; receiver: SrtpReceiver }

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

  /** False while sound that must be secured can't be yet: nothing may be sent. */
  get ready(): boolean {
    return this.#security.kind === 'none' || this.#contexts.rtp !== null
  }

  /** Signalling has agreed, first or anew. The same keys or fingerprints go on as they are. `muxed`: RFC 5761. */
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
        // One key has one index of reports, whatever way they go.
        this.#contexts.rtcp = this.#contexts.rtp
        return
      case 'dtls':
        // RFC 8842 §4: without ICE, another address means another association; its keys replace those of the last.
        if (before.kind !== 'dtls' || moved || remuxed || !sameFingerprints(before, security))
          this.#openDtls(security, remote)
    }
  }

  /** A datagram as RTP or RTCP in the clear; null when it was DTLS, or is to be rejected. */
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

  /** What may go on the wire in place of `packet`; null: nothing. */
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
    if (identity === null) throw new Error('DTLS was agreed without a certificate')
    const { role, fingerprints } = security
    for (const channel of this.#muxed ? (['rtp'] as const) : (['rtp', 'rtcp'] as const)) {
      this.#dtls[channel] = new Dtls({
        ...{ identity, role, fingerprints, target: remote[channel], clock: this.#options.clock },
        send: (datagram, to) => this.#options.send(channel, datagram, to),
        onKeys: keys => this.#key(channel, keys),
        // Sound goes without reports, if it must.
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
