/** Ports for voice activity detection, speech-to-text and text-to-speech. Audio is 16-bit linear PCM, mono. */
import type { AudioFrame } from './leg.ts'

/** Probability of speech in one window of the caller's audio. */
export interface VoiceFrame {
  probability: number
  /** Arrival time of the window's last sample. */
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
  /** Confidence from 0 to 1; null when the recogniser does not report it. */
  confidence: number | null
}

export interface Stt {
  open(options: { sampleRate: number; language: string }): SttStream
}

/** Receives all of the caller's audio; the conversation chooses which utterance to transcribe. */
export interface SttStream {
  push(frame: AudioFrame): void
  /** Transcribes the audio between two arrival times. May be called again for a longer utterance (speculation). */
  transcribe(fromMs: number, toMs: number, signal: AbortSignal): Promise<Transcript>
  close(): void
}

export interface SpokenWord {
  text: string
  /** Milliseconds from the utterance's first sample. */
  startMs: number
  endMs: number
}

export interface SpeechChunk {
  pcm: Int16Array
  sampleRate: number
  /**
   * Word timings that the vendor sent since the previous chunk. Their audio may lie in this chunk or in others; `pcm`
   * is empty when there is no more audio.
   */
  words?: readonly SpokenWord[]
}

export interface Tts {
  /** Yields chunks in order, the first as early as possible. Abort ends the iteration without an error. */
  speak(
    /** `keep`: cache this fixed phrase, because it will be spoken again. */
    options: { text: string; voice: string | null; language: string; keep?: boolean },
    signal: AbortSignal,
  ): AsyncIterable<SpeechChunk>
}
