import type { LegSink, Recording } from '../ports.ts'

/** The leg's view of a call that is recorded: what crosses the leg's edge is told, and nothing is changed. */
export function recordingSink(sink: LegSink, recording: Recording): LegSink {
  return {
    pull(atMs) {
      const pcm = sink.pull(atMs)
      recording.agent(pcm, atMs)
      return pcm
    },
    push(frame) {
      recording.caller(frame)
      sink.push(frame)
    },
    dtmf: digit => sink.dtmf(digit),
    ulaw: () => sink.ulaw?.() ?? null,
  }
}
