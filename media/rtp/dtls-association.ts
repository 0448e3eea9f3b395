/** One DTLS association with one address: records, flights and retransmission of the handshake (RFC 6347 §4.2.4). */
import type { Clock } from '../shared/clock.ts'
import {
  ClientHandshake,
  type DtlsRole,
  type Flight,
  type HandshakeOptions,
  ServerHandshake,
  type SrtpKeys,
} from './dtls-handshake.ts'
import {
  CONTENT,
  DTLS_1_2,
  DtlsError,
  type DtlsRecord,
  HANDSHAKE,
  parseFragments,
  parseRecords,
  Reassembly,
  writeRecord,
} from './dtls-wire.ts'

/** First retransmission in ms. The second that RFC 6347 §4.2.4.1 recommends would be an audible gap. */
const FIRST_REPEAT_MS = 200
const MAX_REPEAT_MS = 3200
/** Datagram size that fits every path MTU. */
const DATAGRAM_BYTES = 1200
const FATAL = 2

export interface AssociationOptions extends HandshakeOptions {
  clock: Clock
  send(datagram: Buffer): void
  onKeys(keys: SrtpKeys): void
  /** Called once, and never after `onKeys`. `words` is the reason for the log. */
  onFailed(words: string): void
}

export class DtlsAssociation {
  readonly #options: AssociationOptions
  readonly #role: DtlsRole
  readonly #handshake: ClientHandshake | ServerHandshake
  readonly #incoming: Reassembly
  /** Sequence number of the next record of each epoch. */
  readonly #sequences: [number, number]
  #flight: Flight | null = null
  #cancel: () => void = () => {}
  #state: 'shaking' | 'secured' | 'over' = 'shaking'

  private constructor(options: AssociationOptions, role: DtlsRole, first: { record: number; message: number }) {
    this.#options = options
    this.#role = role
    this.#sequences = [first.record, 0]
    this.#incoming = new Reassembly(first.message)
    this.#handshake = role === 'client' ? new ClientHandshake(options) : new ServerHandshake(options, first.message)
  }

  static asClient(options: AssociationOptions): DtlsAssociation {
    const association = new DtlsAssociation(options, 'client', { record: 0, message: 0 })
    association.#transmit((association.#handshake as ClientHandshake).start())
    return association
  }

  /** `hello`: numbers of the record and the message that returned the cookie. Pass that datagram to `receive` next. */
  static asServer(options: AssociationOptions, hello: { record: number; message: number }): DtlsAssociation {
    return new DtlsAssociation(options, 'server', hello)
  }

  get secured(): boolean {
    return this.#state === 'secured'
  }

  receive(datagram: Buffer): void {
    try {
      const repeated = parseRecords(datagram).map(record => this.#take(record))
      // The far end missed our last flight; after the handshake no timer of ours retransmits it.
      if (this.#state === 'secured' && repeated.includes(true)) this.#send()
    } catch (error) {
      if (!(error instanceof DtlsError)) throw error
      // An error after the handshake has no effect.
      if (this.#state === 'shaking') this.#fail(error)
    }
  }

  close(): void {
    this.#state = 'over'
    this.#cancel()
  }

  /** Returns true when the record contains a retransmitted handshake message. */
  #take(record: DtlsRecord): boolean {
    if (this.#state === 'over' || record.epoch > 1) return false
    const body = record.epoch === 0 ? record.body : this.#decrypt(record)
    if (body === null) return false
    if (record.type === CONTENT.alert) this.#takeAlert(body)
    return record.type === CONTENT.handshake && this.#takeFragments(body, record.epoch === 1)
  }

  #decrypt(record: DtlsRecord): Buffer | null {
    return this.#handshake.ciphers?.[this.#role === 'client' ? 'server' : 'client'].open(record) ?? null
  }

  #takeAlert(body: Buffer): void {
    if (this.#state !== 'shaking' || body[0] !== FATAL) return
    this.#over(`the far end aborted the DTLS handshake (alert ${body[1] ?? '?'})`)
  }

  #takeFragments(body: Buffer, encrypted: boolean): boolean {
    let repeated = false
    for (const fragment of parseFragments(body)) {
      // An unencrypted Finished is forged: it must not take the place of the real one.
      if ((fragment.type === HANDSHAKE.finished) !== encrypted) continue
      repeated ||= this.#incoming.isOld(fragment)
      this.#incoming.add(fragment)
    }
    for (let message = this.#incoming.take(); message && this.#state === 'shaking'; message = this.#incoming.take()) {
      const { flight, keys } = this.#handshake.receive(message, encrypted)
      if (flight) this.#transmit(flight)
      if (keys) this.#secure(keys)
    }
    return repeated
  }

  #secure(keys: SrtpKeys): void {
    this.#state = 'secured'
    this.#cancel()
    this.#options.onKeys(keys)
  }

  #transmit(flight: Flight): void {
    this.#flight = flight
    this.#send()
    this.#repeatAfter(FIRST_REPEAT_MS)
  }

  #repeatAfter(ms: number): void {
    this.#cancel()
    this.#cancel = this.#options.clock.after(ms, () => {
      this.#send()
      this.#repeatAfter(Math.min(ms * 2, MAX_REPEAT_MS))
    })
  }

  /** Sends the last flight in new records. */
  #send(): void {
    if (!this.#flight) return
    const { plain, finished } = this.#flight
    const records = plain.map(body => this.#record(CONTENT.handshake, 0, body))
    if (finished) {
      records.push(this.#record(CONTENT.changeCipherSpec, 0, Buffer.from([1])))
      records.push(this.#record(CONTENT.handshake, 1, finished))
    }
    let datagram: Buffer[] = []
    for (const record of records) {
      if (Buffer.concat(datagram).length + record.length > DATAGRAM_BYTES) {
        this.#options.send(Buffer.concat(datagram))
        datagram = []
      }
      datagram.push(record)
    }
    this.#options.send(Buffer.concat(datagram))
  }

  #record(type: number, epoch: 0 | 1, body: Buffer): Buffer {
    const record = { type, version: DTLS_1_2, epoch, sequence: this.#sequences[epoch]++, body }
    return writeRecord(epoch === 0 ? record : { ...record, body: this.#handshake.ciphers![this.#role].seal(record) })
  }

  #fail(error: DtlsError): void {
    this.#options.send(this.#record(CONTENT.alert, 0, Buffer.from([FATAL, error.alert])))
    this.#over(error.message)
  }

  #over(words: string): void {
    this.close()
    this.#options.onFailed(words)
  }
}
