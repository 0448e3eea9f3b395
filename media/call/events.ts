import type { CallEventBody } from '../contract/messages.ts'
import type { Log } from '../shared/log.ts'

/** Events of a call; the bus sends them in the order in which they were emitted. */
export class CallEvents {
  readonly #send: (body: CallEventBody) => Promise<void>
  readonly #log: Log
  #last: Promise<unknown> = Promise.resolve()

  constructor(send: (body: CallEventBody) => Promise<void>, log: Log) {
    this.#send = send
    this.#log = log
  }

  emit(body: CallEventBody): void {
    const sent = this.#send(body).catch(error =>
      this.#log.error({ err: error, type: body.type }, 'could not send event'),
    )
    this.#last = Promise.all([this.#last, sent])
  }

  /** Settles when all events so far were sent or have failed. */
  get sent(): Promise<unknown> {
    return this.#last
  }
}
