/**
 * Decides when the demo's caller speaks, from the level of the received audio: after a pause, or over the agent. Pure;
 * one step per 20 ms frame.
 */
import { FRAME_MS } from '../../media/audio/frames.ts'
import type { DemoLine } from './script.ts'

const LOUD = 200
/** Longer than pauses inside a sentence. */
const PAUSE_MS = 900
const SPOKEN_MS = 300

export interface Cues {
  /** Processes one frame of the agent's audio; returns the index of the line to play now, or null. */
  hear(level: number): number | null
  /** Call when the line has been played. */
  said(): void
}

export function createCues(cues: readonly DemoLine['cue'][]): Cues {
  let next = 0
  let speaking = false
  let loudMs = 0
  let sinceLoudMs = 0
  let runMs = 0

  return {
    hear(level) {
      const cue = cues[next]
      if (!cue || speaking) return null
      if (level > LOUD) {
        loudMs += FRAME_MS
        sinceLoudMs = 0
      } else sinceLoudMs += FRAME_MS
      if (loudMs > 0) runMs += FRAME_MS
      const due =
        cue.type === 'over' ? runMs >= cue.afterMs && sinceLoudMs === 0 : loudMs >= SPOKEN_MS && sinceLoudMs >= PAUSE_MS
      if (!due) return null
      speaking = true
      return next++
    },
    said() {
      speaking = false
      loudMs = 0
      sinceLoudMs = 0
      runMs = 0
    },
  }
}
