/**
 * The demo's phone: a separate process with only SIP and RTP. It answers one call at a time, plays the caller's
 * recordings on their cues, and records both sides in a stereo WAV (caller left, agent right). It reports each event
 * as a line of JSON on standard output.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { rms } from '../../media/audio/frames.ts'
import { decodeWav, encodeWav } from '../../media/audio/wav.ts'
import { PHONE_FRAME, PHONE_RATE } from '../telephone/audio.ts'
import { type CallSide, Telephone } from '../telephone/telephone.ts'
import { createCues } from './cues.ts'
import { demoLines } from './script.ts'

const RING_MS = 1200

const { values } = parseArgs({
  options: {
    host: { type: 'string', default: '127.0.0.1' },
    port: { type: 'string', default: '0' },
    record: { type: 'string' },
  },
})
const report = (event: object) => process.stdout.write(`${JSON.stringify(event)}\n`)
const clips = demoLines.map(line => decodeWav(readFileSync(new URL(`voice/${line.file}`, import.meta.url))).pcm)

const telephone = await Telephone.open({
  host: values.host,
  port: Number(values.port),
  user: 'phone',
  codecs: ['PCMU', 'PCMA'],
  answer: { ringMs: RING_MS, side: createCaller },
})
report({ ready: true, sip: `${values.host}:${telephone.port}` })

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.on(signal, () => {
    telephone.close()
    process.exit(0)
  })
}

function createCaller(): CallSide {
  const cues = createCues(demoLines.map(line => line.cue))
  const said: Int16Array[] = []
  const heard: Int16Array[] = []
  let clip: { pcm: Int16Array; at: number } | null = null
  return {
    ringing: () => report({ event: 'ringing' }),
    answered: () => report({ event: 'answered' }),
    pull() {
      const frame = new Int16Array(PHONE_FRAME)
      if (clip) {
        frame.set(clip.pcm.subarray(clip.at, clip.at + PHONE_FRAME))
        clip.at += PHONE_FRAME
        if (clip.at >= clip.pcm.length) {
          clip = null
          cues.said()
        }
      }
      said.push(frame)
      return frame
    },
    push(pcm) {
      heard.push(pcm)
      const line = cues.hear(rms(pcm))
      if (line === null) return
      clip = { pcm: clips[line]!, at: 0 }
      report({ event: 'says', text: demoLines[line]!.text })
    },
    ended() {
      if (values.record && heard.length > 0) writeFileSync(values.record, recording(said, heard))
      report({ event: 'over' })
    },
  }
}

function recording(said: readonly Int16Array[], heard: readonly Int16Array[]): Buffer {
  const frames = Math.min(said.length, heard.length)
  const pcm = new Int16Array(frames * PHONE_FRAME * 2)
  for (let f = 0; f < frames; f++) {
    for (let i = 0; i < PHONE_FRAME; i++) {
      pcm[(f * PHONE_FRAME + i) * 2] = said[f]![i]!
      pcm[(f * PHONE_FRAME + i) * 2 + 1] = heard[f]![i]!
    }
  }
  return encodeWav({ sampleRate: PHONE_RATE, channels: 2, pcm })
}
