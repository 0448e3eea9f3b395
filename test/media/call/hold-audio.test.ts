/** Audio for a caller on hold, frame by frame. */
import { describe, expect, it } from 'vitest'
import { measureTone } from '../../../media/answering/tones.ts'
import { HoldAudio } from '../../../media/call/hold-audio.ts'
import { type TransferState, waitingAudio } from '../../../media/call/transfer-machine.ts'
import { tone } from '../audio/sound.ts'

const request = { refer: false, announces: false }
const dialing = (over: { rings?: boolean; announces?: boolean } = {}): TransferState => ({
  phase: 'dialing',
  rings: over.rings ?? true,
  request: { ...request, announces: over.announces ?? false },
})

describe('audio while waiting', () => {
  it.each<[string, TransferState, number | null, string]>([
    ['music while the carrier is asked', { phase: 'referring', request, dropped: null }, null, 'music'],
    ['music before it rings', dialing({ rings: false }), null, 'music'],
    ['our ringing when nothing is heard of theirs', dialing(), null, 'ringing'],
    ['their line, as soon as there is something to hear', dialing(), 0, 'early'],
    ['its pauses', dialing(), 5980, 'early'],
    ['our ringing when it has fallen silent', dialing(), 6000, 'ringing'],
    ['music for as long as they have to be told something', dialing({ announces: true }), 0, 'music'],
    ['music while they are', { phase: 'announcing', request }, 0, 'music'],
  ])('%s', (_, state, silentMs, heard) => {
    expect(waitingAudio(state, silentMs)).toBe(heard)
  })
})

describe('early media', () => {
  const EARLY_HZ = 1800
  const RINGING_HZ = 425
  const frame = (pcm: Int16Array) => ({ pcm, atMs: 0, concealed: false })

  /** Resamples 16 kHz to 8 kHz, and returns the dominant frequency of most frames in Hz. */
  function listener() {
    const hold = new HoldAudio(8000, '+4930123456')
    let at = 0
    return (early: 'tone' | 'silence' | 'nothing', frames: number, agent: Int16Array | null = null): number => {
      const heard = Array.from({ length: frames }, () => {
        const pcm = early === 'tone' ? tone(EARLY_HZ, 16_000, 320, 8000, at) : new Int16Array(320)
        at += 320
        if (early !== 'nothing') hold.early(frame(pcm), 16_000)
        const { hz, purity } = measureTone(hold.next(dialing(), agent) ?? new Int16Array(160), 8000)
        return purity > 0.7 ? Math.round(hz / 25) * 25 : 0
      })
      return [...new Set(heard)].sort(
        (a, b) => heard.filter(c => c === b).length - heard.filter(c => c === a).length,
      )[0]!
    }
  }

  it('replaces our ringback from its first sound, until a long silence', () => {
    const hears = listener()
    hears('nothing', 20) // the agent may still have something to say
    expect(hears('silence', 30)).toBe(RINGING_HZ)
    expect(hears('tone', 30)).toBe(EARLY_HZ)
    expect(hears('nothing', 290)).toBe(0)
    expect(hears('tone', 30)).toBe(EARLY_HZ)
    hears('silence', 300)
    const ringing = Array.from({ length: 250 }, () => hears('silence', 1))
    expect(ringing.filter(hz => hz === RINGING_HZ).length).toBeGreaterThan(40)
  })

  it('does not mix with the agent, and is not delayed', () => {
    const hears = listener()
    hears('tone', 30)
    expect(hears('tone', 50, tone(1000, 8000, 160))).toBe(1000)
    hears('tone', 20)
    expect(hears('silence', 20)).toBe(0)
  })
})
