/** Presentation of API responses on the pages of calls. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { adviceFor } from '../../../control/dashboard/page/calls/advice.ts'
import { ladderOf } from '../../../control/dashboard/page/calls/ladder-shape.ts'
import { answersOf, entryAt, heardIn, timelineOf } from '../../../control/dashboard/page/calls/timeline.ts'
import { linesOf } from '../../../control/dashboard/page/calls/waterfall.ts'
import { readPeaks } from '../../../control/dashboard/page/calls/wav-peaks.ts'
import { encodeWav } from '../../../media/audio/wav.ts'
import { latency, other, refused, theirs, transcript, usedTool } from './calls-fixture.ts'

describe('what the page makes of a call', () => {
  it('strikes through what was made and not heard, however it was spaced', () => {
    expect(heardIn('One, two  three.', 'One, two three')).toEqual({ heard: 'One, two  three', rest: '.' })
    expect(heardIn('One two', '')).toEqual({ heard: '', rest: 'One two' })
    expect(heardIn('One two', 'One two ')).toEqual({ heard: 'One two', rest: '' })
    expect(heardIn('Привет, Анна', 'Привет')).toEqual({ heard: 'Привет', rest: ', Анна' })
    expect(heardIn('One', 'Two')).toBeNull()
    expect(heardIn('One', 'One more')).toBeNull()
  })

  it('puts turns and tools into one order, and each use of a tool there once', () => {
    const tools = [{ ...usedTool, started_ms: 10_700 }]
    const entries = timelineOf({ transcript, tool_calls: tools })
    expect(entries.map(({ kind }) => kind).join(' ')).toBe('turn turn turn turn tool turn turn turn')
    expect(entryAt(entries, 100)).toBe(-1)
    expect(entryAt(entries, 200)).toBe(0)
    expect(entryAt(entries, 11_000)).toBe(3)
    expect(entryAt(entries, 60_000)).toBe(7)
  })

  it('knows the turn of a measured answer by the pause before it, and none where there is no such', () => {
    const starts = answersOf(transcript, latency.turns).map(answer => answer?.started_ms ?? null)
    expect(starts).toEqual([6140, 12_600, 17_480])
    expect(answersOf(transcript, [{ ...latency.turns[0]!, total_ms: 5000 }, latency.turns[2]!])).toEqual([
      null,
      expect.objectContaining({ started_ms: 6140 }),
    ])
    expect(answersOf([], latency.turns)).toEqual([null, null, null])
  })

  it('draws the parts of an answer within it, overlapping where they did', () => {
    const spans = (index: number) =>
      Object.fromEntries(linesOf(latency.turns[index]!).map(({ part, from_ms, to_ms }) => [part, [from_ms, to_ms]]))
    expect(spans(0)).toEqual({
      endpointing_ms: [0, 220],
      stt_ms: [230, 320],
      llm_first_token_ms: [320, 440],
      tts_first_byte_ms: [440, 540],
    })
    expect(spans(2)).toEqual({ endpointing_ms: [0, 300] })
    const early = { ...latency.turns[0]!, total_ms: 300, llm_first_token_ms: 290, tts_first_byte_ms: 50 }
    expect(linesOf(early).map(({ from_ms, to_ms }) => [from_ms, to_ms])).toEqual([
      [0, 220],
      [0, 250],
      [250, 300],
    ])
  })

  it('gives each far end of the SIP messages a column of its own', () => {
    const messages = refused.messages.map(message => ({
      ...message,
      at: new Date(message.at).toISOString(),
      start_line: message.text.split('\r\n')[0]!,
    }))
    const { ends, rungs } = ladderOf({ messages, diagnosis: refused.diagnosis })
    expect(ends).toEqual([theirs, other])
    expect(rungs.map(({ column, after_ms, label, sound }) => [column, after_ms, label, sound])).toEqual([
      [1, 0, 'INVITE +49301234', 'PCMU PCMA'],
      [1, 12, '401 Unauthorized (INVITE)', ''],
      [1, 15, 'INVITE +49301234', 'PCMU PCMA'],
      [2, 9000, 'INVITE +49301234', 'PCMU PCMA'],
      [2, 32_015, '408 Request Timeout (INVITE)', ''],
    ])
    expect(rungs.map(({ shows_cause }) => shows_cause)).toEqual([false, false, false, true, true])
  })

  it('reads the waves of a recording that comes in pieces of any size', async () => {
    const pcm = Int16Array.from({ length: 2000 }, (_, i) => (i % 2 === 0 ? (i < 1000 ? 16_384 : 0) : -32_768))
    const file = encodeWav({ sampleRate: 1000, channels: 2, pcm })
    for (const size of [1, 7, 44, 333, file.length]) {
      const pieces = Array.from({ length: Math.ceil(file.length / size) }, (_, i) =>
        file.subarray(i * size, (i + 1) * size),
      )
      const { channels, seconds } = await readPeaks(ReadableStream.from(pieces.map(piece => new Uint8Array(piece))), 10)
      expect(seconds).toBe(1)
      expect([...channels[0]!]).toEqual([0.5, 0.5, 0.5, 0.5, 0.5, 0, 0, 0, 0, 0])
      expect([...channels[1]!]).toEqual(Array(10).fill(1))
    }
    await expect(readPeaks(ReadableStream.from([new TextEncoder().encode('x'.repeat(99))]), 10)).rejects.toThrow(
      'not a WAV file',
    )
    await expect(readPeaks(ReadableStream.from([file.subarray(0, 30)]), 10)).rejects.toThrow('contains no audio')
  })

  it('has words for everything that the API may answer, in both languages', () => {
    const read = (path: string) =>
      JSON.parse(readFileSync(new URL(`../../../control/${path}`, import.meta.url), 'utf8'))
    const { schemas } = read('openapi.json').components
    const detail = schemas.CallDetail.properties
    const listed = (shape: { enum?: string[]; anyOf?: { enum?: string[] }[] }) =>
      shape.enum ?? shape.anyOf!.find(one => one.enum)!.enum!
    const lists: Record<string, string[]> = {
      statuses: listed(detail.status),
      direction: listed(detail.direction),
      reasons: listed(detail.ended_reason),
      answeredBy: listed(detail.answered_by),
      roles: listed(detail.transcript.items.properties.role),
      toolStatus: listed(detail.tool_calls.items.properties.status),
    }
    const codes: string[] = listed(schemas.Diagnosis.properties.code)
    expect(lists['reasons']!.length).toBeGreaterThan(30)
    for (const language of ['en', 'ru']) {
      const words = read(`dashboard/page/calls/words.${language}.json`)
      for (const [name, values] of Object.entries(lists)) expect(Object.keys(words[name])).toEqual(values)
      expect(Object.keys(words.advice)).toEqual(lists['reasons']!.filter(reason => adviceFor(reason)))
      const diagnosis = read(`dashboard/page/diagnosis/words.${language}.json`)
      expect([Object.keys(diagnosis.message), Object.keys(diagnosis.advice)]).toEqual([codes, codes])
    }
  })
})
