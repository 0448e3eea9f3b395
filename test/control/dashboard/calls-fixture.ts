/** A call as an engine would report it: a table is booked; and the SIP messages of a failed one. */
import { randomUUID } from 'node:crypto'
import type { Turn } from '../../../control/dashboard/page/calls/timeline.ts'
import { encodeWav } from '../../../media/audio/wav.ts'
import type { CallRecord } from '../../../media/contract/messages.ts'
import type { SipTrace, TracedMessage } from '../../../media/contract/sip-trace.ts'

const RATE = 8000
export const SECONDS = 24

const turn = (role: Turn['role'], started_ms: number, ended_ms: number, text: string, part: Partial<Turn> = {}) => ({
  role,
  text,
  heard_text: text,
  started_ms,
  ended_ms,
  interrupted: false,
  ...part,
})
const sourceId = randomUUID()
export const found = [1, 2].map(() => ({ chunk_id: randomUUID(), source_id: sourceId, source: 'Opening hours.md' }))

export const transcript = [
  turn('agent', 200, 2900, 'Good evening, Trattoria Roma. How can I help you?'),
  turn('caller', 3400, 5600, 'A table for four on Friday, please.'),
  turn('agent', 6140, 9400, 'Of course. I can offer you seven or nine in the evening, on the terrace or inside.', {
    heard_text: 'Of course. I can offer you seven',
    interrupted: true,
  }),
  turn('caller', 8900, 10_300, 'Seven is fine.'),
  turn('tool', 10_700, 11_112, 'check_table: ok (Opening hours.md)', { heard_text: '', knowledge: found }),
  turn('agent', 12_600, 15_200, 'Friday at seven for four, it is booked.'),
  turn('caller', 15_900, 17_000, 'Thank you!'),
  turn('agent', 17_480, 19_000, 'See you on Friday.'),
]

export const latency: CallRecord['latency'] = {
  p50_ms: 540,
  p95_ms: 2300,
  turns: [
    {
      total_ms: 540,
      endpointing_ms: 220,
      stt_ms: 90,
      llm_first_token_ms: 120,
      tts_first_byte_ms: 100,
      filler: false,
    },
    {
      total_ms: 2300,
      endpointing_ms: 250,
      stt_ms: 95,
      llm_first_token_ms: 1500,
      tts_first_byte_ms: 180,
      filler: false,
    },
    { total_ms: 480, endpointing_ms: 300, stt_ms: 0, llm_first_token_ms: 0, tts_first_byte_ms: 0, filler: true },
  ],
}

export const [ours, theirs, other] = ['192.0.2.1:5070', '198.51.100.9:5060', '203.0.113.4:5060']
const sdp = '\r\n\r\nv=0\r\nm=audio 4000 RTP/AVP 0 8\r\na=rtpmap:0 PCMU/8000\r\na=rtpmap:8 PCMA/8000\r\n'
const seen = (sent: boolean, ms: number, text: string, part: Partial<TracedMessage> = {}): TracedMessage => ({
  at: Date.UTC(2026, 2, 2, 9, 14, 5, 120) + ms,
  sent,
  transport: 'udp',
  generated: false,
  text,
  ...(sent ? { source: ours, target: theirs } : { source: theirs, target: ours }),
  ...part,
})
export const refused: SipTrace = {
  messages: [
    seen(true, 0, `INVITE sip:+49301234@carrier.example SIP/2.0\r\nCSeq: 1 INVITE${sdp}`),
    seen(false, 12, 'SIP/2.0 401 Unauthorized\r\nCSeq: 1 INVITE\r\n\r\n'),
    seen(true, 15, `INVITE sip:+49301234@carrier.example SIP/2.0\r\nCSeq: 2 INVITE\r\nAuthorization: Digest x${sdp}`),
    seen(true, 9000, `INVITE sip:+49301234@other.example SIP/2.0\r\nCSeq: 3 INVITE${sdp}`, { target: other }),
    seen(false, 32_015, 'SIP/2.0 408 Request Timeout\r\nCSeq: 3 INVITE\r\n\r\n', { generated: true, source: '?' }),
  ],
  omitted: 3,
  diagnosis: {
    code: 'no_response',
    message: '203.0.113.4:5060 never answered our INVITE.',
    advice: 'Check host and port.',
    evidence: [3, 4],
  },
}

/** Two tones, in the places of the turns: the caller left, the agent right. */
export function tones(): Buffer {
  const pcm = new Int16Array(RATE * SECONDS * 2)
  for (const { role, started_ms, ended_ms } of transcript) {
    const [side, pitch] = role === 'caller' ? [0, 300] : [1, 200]
    if (role === 'tool') continue
    for (let at = Math.round((started_ms * RATE) / 1000); at < (ended_ms * RATE) / 1000; at++) {
      const swell = Math.sin((at * Math.PI * 5) / RATE) ** 2
      pcm[2 * at + side] = 12_000 * swell * Math.sin((2 * Math.PI * pitch * at) / RATE)
    }
  }
  return encodeWav({ sampleRate: RATE, channels: 2, pcm })
}

export const usedTool = {
  name: 'check_table',
  arguments: { day: 'friday', guests: 4 },
  started_ms: 10_700,
  ms: 412,
  status: 'ok' as const,
  http_status: 200,
  result: '{"free":["19:00","21:00"]}',
  filler: ['One moment, please.'],
  knowledge: found,
}

export const talked: Partial<CallRecord> = {
  transcript,
  latency,
  tool_calls: [usedTool],
  talked_ms: SECONDS * 1000,
  summary: 'A table for four on Friday at seven.',
  extracted: { guests: 4, day: 'Friday', wishes: ['terrace', 'quiet'], contact: { phone: '+49301234' }, child: false },
  goal_reached: true,
  goal_evidence: 'Seven is fine.',
  sip: { ...refused, messages: refused.messages.slice(0, 3), omitted: 0, diagnosis: null },
}

export const hostile = [
  '<img src=x onerror="window.pwned=1">',
  '"><script>window.pwned=1</script>',
  'javascript:window.pwned=1',
].join(' ')

const said = transcript.map(one => ({
  ...one,
  text: `${one.text} ${hostile}`,
  heard_text: `${one.heard_text} ${hostile}`,
}))
const knowledge = found.map(one => ({ ...one, source: hostile }))

/** In every field that strangers fill. */
export const hostileTalk: Partial<CallRecord> = {
  ...talked,
  transcript: said,
  tool_calls: [
    {
      ...usedTool,
      name: hostile,
      arguments: { [hostile]: hostile },
      result: hostile,
      filler: [hostile],
      knowledge,
    },
  ],
  summary: hostile,
  extracted: { [hostile]: hostile, deep: { [hostile]: [hostile] } },
  goal_evidence: hostile,
  contact_name: hostile,
  sip: {
    messages: [seen(true, 0, `INVITE sip:${hostile}@x SIP/2.0\r\nX: ${hostile}`, { target: hostile })],
    omitted: 0,
    diagnosis: { code: 'forbidden', message: hostile, advice: hostile, evidence: [0] },
  },
}
