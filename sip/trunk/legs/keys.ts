/** DTMF outside telephone-events: SIP INFO (RFC 2976 as gateways use it) and in-band tones. */
import { createDtmfDetector, type DtmfDetector } from '../../../media/audio/dtmf-detector.ts'
import type { Clock } from '../../../media/shared/clock.ts'
import type { SrfDialog } from '../requests/srf.ts'

const KEY = /^[0-9*#A-D]$/
/** Milliseconds that we report a key as held. */
const DURATION_MS = 160
const RELAY = 'application/dtmf-relay'

/** A key sent as INFO: `Signal=5` (application/dtmf-relay), or the key alone (application/dtmf). */
export function keyInInfo(contentType: string, body: string): string | null {
  const type = contentType.split(';')[0]!.trim().toLowerCase()
  const relayed = /^\s*Signal\s*=\s*(\S+)/im.exec(body)?.[1]
  const text = type === RELAY ? relayed : type === 'application/dtmf' ? (relayed ?? body.trim()) : undefined
  // Some gateways number * and # as 10 and 11, as RFC 4733 does.
  const key = text === '10' ? '*' : text === '11' ? '#' : text?.toUpperCase()
  return key !== undefined && KEY.test(key) ? key : null
}

export const dtmfRelay = (key: string): { headers: Record<string, string>; body: string } => ({
  headers: { 'Content-Type': RELAY },
  body: `Signal=${key}\r\nDuration=${DURATION_MS}\r\n`,
})

/** True when the far end allows INFO (Allow, RFC 3261 §20.5), in its INVITE or in its answer to ours. */
export function takesInfo({ type, req, res }: Pick<SrfDialog, 'type' | 'req' | 'res'>): boolean {
  const allow = (type === 'uac' ? res : req).get('Allow') ?? ''
  return allow.split(',').some(method => method.trim().toUpperCase() === 'INFO')
}

/** Milliseconds within which a tone and an INFO belong to one press. */
const SAME_PRESS_MS = 1000

/** Detects in-band tones until the far end reports keys in another way. */
export class InBandKeys {
  private readonly clock: Clock
  private detector: DtmfDetector | null
  private last: { key: string; atMs: number } | null = null

  constructor(sampleRate: number, clock: Clock) {
    this.clock = clock
    this.detector = createDtmfDetector(sampleRate)
  }

  /** Returns the key recognised in this frame, or null. */
  hear(pcm: Int16Array): string | null {
    const key = this.detector?.push(pcm) ?? null
    if (key !== null) this.last = { key, atMs: this.clock.now() }
    return key
  }

  /**
   * Records that INFO reported this key and stops in-band detection. Returns true when its tone was reported already.
   */
  reportedByInfo(key: string): boolean {
    const { last } = this
    this.detector = null
    this.last = null
    return last !== null && last.key === key && this.clock.now() - last.atMs < SAME_PRESS_MS
  }
}
