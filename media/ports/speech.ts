/** Voice activity detection, speech-to-text and text-to-speech. Audio is 16-bit linear PCM, mono. */
import type { AudioFrame } from './leg.ts'

/** Probability of speech in one window of the caller's audio. */
export interface VoiceFrame {
  probability: number
  /** Wire time of the window's last sample. */
  atMs: number
  windowMs: number
}

export interface Vad {
  open(options: { sampleRate: number; onVoice(frame: VoiceFrame): void }): VadStream
}

export interface VadStream {
  push(frame: AudioFrame): void
  close(): void
}

export interface Transcript {
  text: string
  /** 0–1 where the recogniser tells it, else null. */
  confidence: number | null
}

export interface Stt {
  open(options: { sampleRate: number; language: string }): SttStream
}

/** All of the caller's sound goes in; the conversation says which utterance to read. */
export interface SttStream {
  push(frame: AudioFrame): void
  /** Text of what came in between two wire times. May be asked again for a longer utterance (speculation). */
  transcribe(fromMs: number, toMs: number, signal: AbortSignal): Promise<Transcript>
  close(): void
}

export interface SpokenWord {
  text: string
  /** From the utterance's first sample. */
  startMs: number
  endMs: number
}

export interface SpeechChunk {
  pcm: Int16Array
  sampleRate: number
  /**
   * Words that the vendor has timed since the chunk before; their sound may lie in this chunk or in others, and `pcm` is
   * empty when there is none left.
   */
  words?: readonly SpokenWord[]
}

export interface Tts {
  /** Chunks in order, the first as early as it can be had. Abort ends the iteration without an error. */
  speak(
    /** `keep`: a fixed phrase that will be said again. */
    options: { text: string; voice: string | null; language: string; keep?: boolean },
    signal: AbortSignal,
  ): AsyncIterable<SpeechChunk>
}
