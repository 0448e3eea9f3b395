import { frameSamples } from '../audio/frames.ts'
import { createResampler } from '../audio/resample.ts'
import { createNarrower, narrowRate } from '../audio/wideband.ts'
import type { LegSink } from '../ports/leg.ts'
import type { Recording } from '../ports/recording.ts'

/** Wraps the leg's sink to record the audio in both directions, unchanged. */
export function recordingSink(sink: LegSink, recording: Recording, sampleRate: number): LegSink {
  const rate = narrowRate(sampleRate)
  const narrow = createNarrower(sampleRate)
  const agent = createResampler(sampleRate, rate)
  const silence = new Int16Array(frameSamples(sampleRate))
  return {
    pull(atMs) {
      const pcm = sink.pull(atMs)
      if (rate === sampleRate) recording.agent(pcm, atMs)
      else recording.agent(agent.push(pcm ?? silence), atMs)
      return pcm
    },
    push(frame) {
      recording.caller(narrow(frame))
      sink.push(frame)
    },
    dtmf: (digit, inSound) => sink.dtmf(digit, inSound),
    text: text => sink.text?.(text),
    ulaw: () => sink.ulaw?.() ?? null,
  }
}
