/** Writes down the calls of a connection to the SIP server, and ends those that an earlier connection left open. */
import type { Log } from '../../../media/shared/log.ts'
import type { OpenCall, OpenCalls } from './open-calls.ts'
import { type Agent, endCall } from './srf.ts'

export class OpenCallKeeper {
  /** True when the server ends the calls of a lost connection by itself. */
  serverEndsCalls = false
  readonly #agent: Agent
  readonly #calls: OpenCalls | undefined
  readonly #log: Log
  /** Number of connections lost so far. */
  #connection = 0

  constructor(agent: Agent, calls: OpenCalls | undefined, log: Log) {
    this.#agent = agent
    this.#calls = calls
    this.#log = log
  }

  connectionLost(): void {
    this.#connection++
  }

  /** Returns a function to call at the call's end. */
  keep(call: OpenCall): () => void {
    const calls = this.#calls
    const connection = this.#connection
    if (calls === undefined || this.serverEndsCalls) return () => {}
    calls.opened(call)
    return () => {
      // A call that was lost with its connection stays open at the server.
      if (connection === this.#connection) calls.ended(call)
    }
  }

  /**
   * Ends calls left open by an earlier connection. A server that restarted, or ended them itself, does not know them.
   */
  endOrphanedCalls(): void {
    const left = this.#calls?.all() ?? []
    if (left.length > 0) this.#log.warn({ calls: left.length }, 'ending calls of an earlier connection')
    for (const call of left) {
      endCall(this.#agent, call, error => {
        if (error) this.#log.debug({}, 'call of an earlier connection no longer exists')
        this.#calls?.ended(call)
      })
    }
  }
}
