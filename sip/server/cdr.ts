/** Call detail records in drachtio-server's format. Each goes to one of the applications that asked for its kind. */
import { type SipMessage, serialise } from '../text/message.ts'
import type { Apps } from './apps.ts'
import { leader, timeOfDay } from './wire.ts'

/** The side that sent the message that the record is about. */
export type CdrSource = 'network' | 'application'
export type CdrRole = 'uac' | 'uas' | 'proxy-uac' | 'proxy-uas'
export type CdrReason =
  | 'call-rejected'
  | 'call-canceled'
  | 'normal-release'
  | 'session-expired'
  | 'system-initiated-termination'

export class Cdr {
  readonly #apps: Apps

  constructor(apps: Apps) {
    this.#apps = apps
  }

  attempt(source: CdrSource, message: SipMessage): void {
    this.#post('attempt', source, message)
  }

  start(source: CdrSource, role: CdrRole, message: SipMessage): void {
    this.#post('start', source, message, role)
  }

  stop(source: CdrSource, reason: CdrReason, message: SipMessage): void {
    this.#post('stop', source, message, reason)
  }

  /** Reports a final response to an INVITE: a 2xx starts the call, anything else ends the attempt. */
  settled(source: CdrSource, role: CdrRole, response: SipMessage & { kind: 'response' }): void {
    if (response.status < 300) this.start(source, role, response)
    else this.stop(source, response.status === 487 ? 'call-canceled' : 'call-rejected', response)
  }

  #post(kind: 'attempt' | 'start' | 'stop', source: CdrSource, message: SipMessage, detail?: string): void {
    const app = this.#apps.pick(`cdr:${kind}`)
    app?.send(leader.cdr(kind, source, timeOfDay(new Date()), detail), serialise(message))
  }
}
