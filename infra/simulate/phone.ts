/** The simulated caller's telephone: it records when audio was sent and when the agent's audio arrived. */
import type { G711 } from '../../media/audio/g711.ts'
import type { Clock } from '../../media/shared/clock.ts'
import { systemClock } from '../adapters/clock.ts'
import { PHONE_FRAME, pacer } from '../telephone/audio.ts'
import { type CallSide, Telephone } from '../telephone/telephone.ts'
import type { SimulatedNetwork } from './network.ts'

/** Sample level above which a packet counts as the agent's speech, not silence or comfort noise. */
const LOUD = 300

export interface PhoneOptions {
  /** SIP address of the installation. */
  sip: { host: string; port: number }
  /** Our own address as the installation sees it. */
  host: string
  from: string
  to: string
  codec: G711
  line: SimulatedNetwork
}

export interface Spoken {
  fromMs: number
  toMs: number
}

/** Places a call; resolves when it is answered. Throws CallRefused. */
export async function call(options: PhoneOptions): Promise<Phone> {
  const { host, from, to, sip, codec, line } = options
  const telephone = await Telephone.open({ host, user: from, codecs: [codec], line })
  const phone = new Phone(telephone, line)
  try {
    await telephone.dial({ user: to, ...sip }, phone.side)
    return phone
  } catch (error) {
    phone.close()
    throw error
  }
}

export class Phone {
  readonly clock: Clock = systemClock
  /** When each loud packet of the agent arrived. */
  readonly heard: number[] = []
  readonly answered: { atMs: number } = { atMs: 0 }
  readonly #telephone: Telephone
  readonly #line: SimulatedNetwork
  #speaking: { pcm: Int16Array; at: number; spoken: Spoken; done(spoken: Spoken): void } | null = null
  #over = false

  constructor(telephone: Telephone, line: SimulatedNetwork) {
    this.#telephone = telephone
    this.#line = line
  }

  readonly side: CallSide = {
    answered: () => {
      this.answered.atMs = this.clock.now()
    },
    pull: () => this.#nextFrame(),
    arrived: pcm => {
      if (pcm.some(sample => Math.abs(sample) > LOUD)) this.heard.push(this.clock.now())
    },
    ended: () => {
      this.#over = true
      this.#speaking?.done(this.#speaking.spoken)
    },
  }

  /** True when either side has hung up. */
  get over(): boolean {
    return this.#over
  }

  /** Speaks from the next packet on; settles when the last packet has left, or the call has ended. */
  say(pcm: Int16Array): Promise<Spoken> {
    const spoken = { fromMs: this.clock.now(), toMs: this.clock.now() }
    if (this.#over) return Promise.resolve(spoken)
    this.#line.begin()
    return new Promise(done => (this.#speaking = { pcm, at: 0, spoken, done }))
  }

  press(keys: string): Promise<void> {
    return this.#telephone.press(keys)
  }

  /** Checks every 20 ms; resolves to false when the time is up or the call has ended. */
  until(condition: () => boolean, mostMs: number): Promise<boolean> {
    const untilMs = this.clock.now() + mostMs
    return new Promise(resolve => {
      const check = () => {
        const holds = condition()
        if (!holds && !this.#over && this.clock.now() < untilMs) return
        stop()
        resolve(holds)
      }
      const stop = pacer.add(check)
      check()
    })
  }

  async hangUp(): Promise<void> {
    await this.#telephone.hangUp()
    this.close()
  }

  close(): void {
    this.#telephone.close()
  }

  #nextFrame(): Int16Array | null {
    const speaking = this.#speaking
    if (!speaking) return null
    const { pcm, at, spoken, done } = speaking
    if (at === 0) spoken.fromMs = this.clock.now()
    spoken.toMs = this.clock.now()
    const frame = new Int16Array(PHONE_FRAME)
    frame.set(pcm.subarray(at, at + PHONE_FRAME))
    speaking.at += PHONE_FRAME
    if (speaking.at >= pcm.length) {
      this.#speaking = null
      done(spoken)
    }
    return frame
  }
}
