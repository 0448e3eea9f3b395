/**
 * Transfers the caller of a live call: performs the effects of `transfer-machine.ts`. It owns the second leg, if there
 * is one, and closes it; while the two parties are joined it relays their audio and keys.
 */

import type { AgentControls } from '../agent/agent-session.ts'
import { Dictation } from '../agent/dictation.ts'
import { mix } from '../audio/mix.ts'
import { AudioPipe } from '../audio/pipe.ts'
import { createNarrower, narrowRate } from '../audio/wideband.ts'
import type { CallEventBody, EndedReason } from '../contract/messages.ts'
import { ABOUT_PLACEHOLDER, type CallPlan, type TransferTarget } from '../contract/plan.ts'
import type { Dialer, DialResult } from '../ports/dialer.ts'
import type { AudioFrame, Leg, LegSink, TransferResult, TrunkLine } from '../ports/leg.ts'
import type { Stt, Tts, Vad } from '../ports/speech.ts'
import type { Clock } from '../shared/clock.ts'
import type { Log } from '../shared/log.ts'
import { Announcement } from './announcement.ts'
import { HoldAudio } from './hold-audio.ts'
import {
  noTransfer,
  stepTransfer,
  type TransferEffect,
  type TransferInput,
  type TransferState,
  waits,
} from './transfer-machine.ts'

export interface TransfersOptions {
  plan: CallPlan
  /** The caller's leg. */
  leg: Leg
  dialer: Dialer
  clock: Clock
  log: Log
  vad: Vad
  stt: Stt
  tts: Tts
  talk: AgentControls
  emit(body: CallEventBody): void
}

/** Milliseconds to wait for pending transcriptions at the end of the call. */
const LAST_WORDS_MS = 1000
/** Milliseconds to wait for the second leg to close at the end of the call. */
const CLOSING_MS = 1000
/** Milliseconds for the carrier's report after it replaced and hung up our leg; the two arrive within moments. */
const CARRIER_SILENT_MS = 4000
const ENDING = 'The call is ending.'
const BUSY: TransferResult = { ok: false, code: 'busy', reason: 'The call is being transferred already.' }

/** Results of dialling the target, as text for the model. */
const WORDS: Partial<Record<EndedReason, string>> = {
  no_answer: 'They do not answer.',
  busy: 'Their line is busy.',
  declined: 'They declined the call.',
  number_unknown: 'Their number does not exist.',
  number_invalid: 'Their number does not exist.',
  carrier_congestion: 'No line is free at the moment.',
  no_capacity: 'No line is free at the moment.',
}
const NOT_REACHED = 'They could not be reached.'

/** One transfer request of the agent until its result. */
interface Run {
  target: TransferTarget
  /** The agent's summary of the caller. */
  about: string
  abort: AbortController
  resolve(result: TransferResult): void
}

/** The second leg. */
interface Second {
  leg: Leg
  /** The caller's audio at the target's rate; the target's at the caller's. */
  toTarget: AudioPipe
  fromTarget: AudioPipe
  /** Audio of an operator who speaks to both. */
  fromOperator: AudioPipe
  announcement: Announcement | null
  dictation: Dictation | null
}

export class Transfers {
  readonly #options: TransfersOptions
  #state: TransferState = noTransfer
  #run: Run | null = null
  #second: Second | null = null
  #hold: HoldAudio | null = null
  /** The caller waits for an operator. */
  #waitsElsewhere = false
  /** Our pending dials and hang-ups. */
  readonly #open = new Set<Promise<unknown>>()
  #cancelWait = () => {}
  #parted = false

  constructor(options: TransfersOptions) {
    this.#options = options
  }

  /** True while the caller talks to the target: the agent no longer takes part. */
  get joined(): boolean {
    return this.#state.phase === 'joined'
  }

  /** True when the target ended a joined call: whatever the reason, the agent's part was complete. */
  get parted(): boolean {
    return this.#parted
  }

  /** Settles when the target has the caller, or the caller is back with the agent. */
  give(target: TransferTarget, about: string): Promise<TransferResult> {
    const { line } = this.#options.leg
    if (!line) return Promise.resolve({ ok: false, code: 'invalid', reason: 'The call cannot be handed over.' })
    // The call would return as a new one, to an agent that may transfer it again.
    if (target.to === line.number) {
      return Promise.resolve({ ok: false, code: 'invalid', reason: 'That is the number that this call is on.' })
    }
    if (this.#busy) return Promise.resolve(BUSY)
    return new Promise(resolve => {
      this.#run = { target, about, abort: new AbortController(), resolve }
      this.#startWaiting(target.to)
      const refer = line.transfer === 'refer' && this.#options.leg.transfer !== undefined
      this.#feed({ type: 'request', request: { refer, announces: target.announce !== null } })
    })
  }

  /** Plays music to the caller while `look` finds an operator. */
  async waitFor(look: () => Promise<TransferResult>): Promise<TransferResult> {
    if (this.#busy) return BUSY
    this.#waitsElsewhere = true
    this.#startWaiting('')
    try {
      return await look()
    } finally {
      this.#waitsElsewhere = false
    }
  }

  get #busy(): boolean {
    return this.#state.phase !== 'idle' || this.#waitsElsewhere
  }

  /** An operator took the caller over: cancels a pending transfer. A joined target stays connected. */
  cancel(reason: string): void {
    if (!this.joined) this.#feed({ type: 'cancel', reason })
  }

  /** Reports the end of the caller's leg. */
  callerEnded(): void {
    this.#feed({ type: 'caller_ended' })
  }

  /** Relays 20 ms of an operator who took over, at the caller's rate, to a joined target. */
  operatorSpeaks(pcm: Int16Array): void {
    if (this.joined) this.#second?.fromOperator.push(pcm)
  }

  /** Closes the second leg at the end of the call, and waits for pending transcriptions. */
  async close(): Promise<void> {
    this.callerEnded()
    this.#cancelWait()
    this.#second?.announcement?.stop()
    await Promise.all([this.#second?.dictation?.close(LAST_WORDS_MS), this.#closed()])
  }

  /** An engine that shuts down right after the call must not leave anybody on the line. */
  async #closed(): Promise<void> {
    const late = Promise.withResolvers<void>()
    const cancel = this.#options.clock.after(CLOSING_MS, late.resolve)
    const all = async () => {
      while (this.#open.size > 0) await Promise.allSettled(this.#open)
    }
    await Promise.race([all(), late.promise])
    cancel()
  }

  #keep(work: Promise<unknown>): void {
    this.#open.add(work)
    const done = () => void this.#open.delete(work)
    work.then(done, done)
  }

  /** Wraps the leg's sink for transfers. */
  sink(inner: LegSink): LegSink {
    return {
      pull: atMs => this.#pull(inner.pull(atMs)),
      ulaw: () => (this.joined || this.#waits ? null : (inner.ulaw?.() ?? null)),
      push: frame => {
        if (this.joined) this.#second?.toTarget.push(frame.pcm)
        inner.push(frame)
      },
      dtmf: (digit, inSound) => {
        // In-band tones reach the target with the audio, and keys pressed for the target do not belong in the
        // transcript.
        if (!this.joined) inner.dtmf(digit, inSound)
        else if (!inSound) void this.#second?.leg.sendDtmf?.(digit)
      },
      text: text => inner.text?.(text),
    }
  }

  get #waits(): boolean {
    return waits(this.#state) || this.#waitsElsewhere
  }

  #pull(agent: Int16Array | null): Int16Array | null {
    if (this.joined) {
      this.#second?.dictation?.tick(this.#options.clock.now())
      return mix(this.#second?.fromTarget.pull() ?? null, agent)
    }
    return this.#waits && this.#hold ? this.#hold.next(this.#state, agent) : agent
  }

  #startWaiting(to: string): void {
    this.#hold = new HoldAudio(this.#options.leg.sampleRate, to)
  }

  #feed(input: TransferInput): void {
    const { state, effects } = stepTransfer(this.#state, input)
    if (effects.some(({ type }) => type === 'join') && !this.#options.talk.stepAside()) {
      // The agent is speaking its last words.
      this.#hangUp()
      this.#feed({ type: 'cancel', reason: ENDING })
      return
    }
    this.#state = state
    for (const effect of effects) this.#perform(effect)
  }

  #perform(effect: TransferEffect): void {
    const { leg } = this.#options
    switch (effect.type) {
      case 'refer':
        this.#emitStarted('refer')
        void this.#refer()
        return
      case 'dial':
        this.#emitStarted('bridge')
        this.#keep(this.#dial(this.#run!, leg.line!))
        return
      case 'cancel_dial':
        this.#run?.abort.abort()
        return
      case 'announce':
        this.#announce()
        return
      case 'join':
        if (effect.replace) void this.#refer(this.#second!.leg)
        return
      case 'hang_up_target':
        this.#hangUp()
        return
      case 'await_carrier':
        this.#cancelWait = this.#options.clock.after(CARRIER_SILENT_MS, () => this.#feed({ type: 'carrier_silent' }))
        return
      case 'hang_up_caller':
        this.#parted = true
        void leg.hangup(effect.reason)
        return
      case 'settle':
        this.#settle(effect)
    }
  }

  #hangUp(): void {
    const second = this.#second
    second?.announcement?.stop()
    if (second) this.#keep(second.leg.hangup('transferred'))
  }

  #emitStarted(by: 'refer' | 'bridge'): void {
    this.#options.emit({ type: 'transfer.started', name: this.#run!.target.name, by })
  }

  #settle(effect: Extract<TransferEffect, { type: 'settle' }>): void {
    const run = this.#run
    this.#run = null
    if (!run) return
    this.#options.emit({ type: 'transfer.settled', name: run.target.name, accepted: effect.ok })
    run.resolve(effect.ok ? { ok: true } : { ok: false, code: 'failed', reason: effect.reason })
  }

  // ---- by the carrier ----

  /** `consulted`: our own leg to the target, for an attended transfer. */
  async #refer(consulted?: Leg): Promise<void> {
    const { leg } = this.#options
    const result = await leg.transfer!(consulted ? '' : this.#run!.target.to, consulted)
    if (result.ok) this.#feed({ type: 'referred', ok: true })
    else this.#feed({ type: 'referred', ok: false, elsewhere: result.code === 'refused', reason: result.reason })
  }

  // ---- by ourselves ----

  async #dial(run: Run, line: TrunkLine): Promise<void> {
    const { plan, dialer } = this.#options
    const result = await dialer.dial({
      plan: { ...plan, room: null, softphone_id: null, trunk_id: line.trunkId, from: line.number, to: run.target.to },
      signal: run.abort.signal,
      onRinging: () => run === this.#run && this.#feed({ type: 'ringing' }),
      onEarlyMedia: (frame, sampleRate) => run === this.#run && this.#hold?.early(frame, sampleRate),
      // Diversion tells the target why our number calls; an outbound call of ours has none.
      ...(plan.direction === 'in' ? { divertedFrom: line.number } : {}),
    })
    this.#onDialed(run, result)
  }

  #onDialed(run: Run, result: DialResult): void {
    const wanted = run === this.#run && !run.abort.signal.aborted
    if (!result.ok) {
      const reason = WORDS[result.failure.reason] ?? NOT_REACHED
      if (wanted) this.#feed({ type: 'not_answered', reason })
      return
    }
    if (!wanted) {
      this.#keep(result.leg.hangup('canceled_by_api'))
      return
    }
    this.#adopt(result.leg)
    this.#feed({ type: 'answered' })
  }

  #adopt(target: Leg): void {
    const { leg } = this.#options
    const second: Second = {
      leg: target,
      toTarget: new AudioPipe(leg.sampleRate, target.sampleRate),
      fromTarget: new AudioPipe(target.sampleRate, leg.sampleRate),
      fromOperator: new AudioPipe(leg.sampleRate, target.sampleRate),
      announcement: null,
      dictation: null,
    }
    this.#second = second
    const narrow = createNarrower(target.sampleRate)
    target.attach({
      pull: () =>
        this.joined ? mix(second.toTarget.pull(), second.fromOperator.pull()) : (second.announcement?.pull() ?? null),
      push: frame => {
        if (!this.joined) return
        second.fromTarget.push(frame.pcm)
        this.#write(second, narrow(frame))
      },
      held: frame => {
        if (this.joined) second.fromTarget.push(frame.pcm)
      },
      dtmf: (digit, inSound) => {
        if (this.joined && !inSound) void leg.sendDtmf?.(digit)
      },
    })
    void target.ended.then(({ by, reason }) => {
      second.announcement?.stop()
      if (this.#second !== second) return
      this.#feed(by === 'network' ? { type: 'target_ended', broken: reason } : { type: 'target_ended' })
    })
  }

  #announce(): void {
    const { plan, tts, clock, log } = this.#options
    const { target, about } = this.#run!
    const second = this.#second!
    second.announcement = new Announcement({
      // A replacer function: in a string, `$` would be special.
      text: target.announce!.replaceAll(ABOUT_PLACEHOLDER, () => about),
      voice: plan.voice,
      language: plan.language,
      sampleRate: second.leg.sampleRate,
      tts,
      clock,
      log,
      onSaid: () => this.#second === second && this.#feed({ type: 'announced' }),
    })
  }

  /** Adds the target's speech to the transcript. */
  #write(second: Second, frame: AudioFrame): void {
    const { vad, stt, plan, clock, log, talk } = this.#options
    second.dictation ??= new Dictation({
      vad,
      stt,
      clock,
      log,
      language: plan.language,
      sampleRate: narrowRate(second.leg.sampleRate),
      onSaid: said => talk.operatorSaid(said),
    })
    second.dictation.push(frame)
  }
}
