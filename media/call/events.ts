import type { CallEventBody } from '../contract/messages.ts'
import type { Log } from '../shared/log.ts'

/** Events of a call; the bus sends them one after the other, in the order they were made. */
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
      this.#log.error({ err: error, type: body.type }, 'event could not be sent'),
    )
    this.#last = Promise.all([this.#last, sent])
  }

  /** All of those so far have left, or never will. */
  get sent(): Promise<unknown> {
    return this.#last
  }
}
