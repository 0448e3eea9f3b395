/** Scripted STT, TTS and language model, which run the conversation's real paths without models. */
import type { Llm, LlmEvent, LlmRequest, WrapUp } from '../../media/ports/llm.ts'
import type { Stt, Tts } from '../../media/ports/speech.ts'

/** Milliseconds per character at the leg's rate, loud enough for a detector. */
export const LETTER_MS = 60

export function fakeTts(rate = 8000): Tts & { spoken: string[] } {
  const spoken: string[] = []
  return {
    spoken,
    async *speak({ text }, signal) {
      spoken.push(text)
      const pcm = new Int16Array((rate / 1000) * LETTER_MS * text.length).map((_, i) => (i % 8 < 4 ? 6000 : -6000))
      for (let at = 0; at < pcm.length && !signal.aborted; at += rate / 10) {
        yield { pcm: pcm.subarray(at, at + rate / 10), sampleRate: rate }
      }
    },
  }
}

/** Transcribes the next line of its list for each utterance that begins later than the one before. */
export function fakeStt(lines: string[]): Stt & { asked: { fromMs: number; toMs: number }[] } {
  const asked: { fromMs: number; toMs: number }[] = []
  let lastFrom = -1
  let index = -1
  return {
    asked,
    open: () => ({
      push() {},
      close() {},
      async transcribe(fromMs, toMs) {
        asked.push({ fromMs, toMs })
        if (fromMs !== lastFrom) index++
        lastFrom = fromMs
        return { text: lines[index] ?? '', confidence: 1 }
      },
    }),
  }
}

export function fakeLlm(
  replies: (request: LlmRequest) => LlmEvent[] | Promise<LlmEvent[]>,
): Llm & { requests: LlmRequest[] } {
  const requests: LlmRequest[] = []
  return {
    requests,
    async *respond(request, signal) {
      requests.push(request)
      for (const event of await replies(request)) {
        if (signal.aborted) return
        yield event
      }
    },
    async wrapUp({ messages }): Promise<WrapUp> {
      const said = messages.find(message => message.role !== 'tool')
      const goalEvidence = said && 'text' in said ? said.text : null
      return { summary: 'A test.', extracted: null, goalReached: true, goalEvidence, contactName: null }
    },
  }
}
