import {
  ANSWERED,
  CALL,
  CALLED,
  CONTACT,
  ENDED,
  GREETING,
  gone,
  LINE,
  MONITOR,
  money,
  PHONE,
  PROJECT,
  page,
} from './common.ts'

const queued = {
  id: CALL,
  project_id: PROJECT,
  direction: 'out',
  status: 'queued',
  from: LINE,
  to: PHONE,
  contact_id: CONTACT,
  campaign_id: null,
  created_at: CALLED,
  answered_at: null,
  ended_at: null,
  duration_seconds: null,
  billed_seconds: null,
  cost: null,
  goal_reached: null,
  ended_reason: null,
  answered_by: null,
  sip_code: null,
}

const ended = {
  ...queued,
  status: 'completed',
  answered_at: ANSWERED,
  ended_at: ENDED,
  duration_seconds: 90,
  billed_seconds: 90,
  cost: money('7.5000'),
  goal_reached: true,
  ended_reason: 'caller_hangup',
  answered_by: 'human',
  sip_code: 200,
}

const seat = { url: 'wss://rtc.example.com', token: 'eyJhbGciOiJIUzI1NiJ9…' }

const turn = {
  role: 'agent',
  text: GREETING,
  heard_text: GREETING,
  started_ms: 180,
  ended_ms: 2340,
  interrupted: false,
}

const callDetail = {
  ...ended,
  summary: 'Anna booked a table for four on Friday at seven.',
  extracted: { guests: 4, time: '19:00' },
  extraction_problem: null,
  goal_evidence: 'Yes, Friday at seven is fine.',
  missing_vars: [],
  transcript: [turn],
  tool_calls: [
    {
      name: 'check_table',
      arguments: { day: 'friday', guests: 4 },
      started_ms: 9120,
      ms: 412,
      status: 'ok',
      http_status: 200,
      result: '{"free":true}',
      filler: [],
    },
  ],
  latency: {
    p50_ms: 540,
    p95_ms: 610,
    turns: [
      {
        total_ms: 540,
        endpointing_ms: 220,
        stt_ms: 90,
        llm_first_token_ms: 60,
        tts_first_byte_ms: 80,
        filler: false,
      },
    ],
  },
  recording_url: `https://parley.example.com/v1/public/calls/${CALL}/recording`,
  sip_trace_url: null,
}

export const callExamples = {
  place_call: { request: { project_id: PROJECT, phone: PHONE, vars: { name: 'Anna' } }, answer: queued },
  list_calls: { answer: page(ended) },
  get_call: { answer: callDetail },
  hang_up_call: { answer: { ...queued, status: 'canceled', ended_at: ENDED, ended_reason: 'canceled_by_api' } },
  erase_call: gone(CALL),
  stream_call_events: { answer: { id: '2', event: 'call.ringing', data: '{}' } },
  get_call_trace: {
    answer: {
      call_id: CALL,
      messages: [
        {
          at: CALLED,
          source: '192.0.2.10:5060',
          target: '198.51.100.20:5060',
          sent: true,
          transport: 'udp',
          generated: false,
          start_line: 'INVITE sip:+14155550123@sip.example.com SIP/2.0',
          text: 'INVITE sip:+14155550123@sip.example.com SIP/2.0\r\n…',
        },
      ],
      omitted: 0,
      diagnosis: {
        code: 'no_response',
        message: '198.51.100.20:5060 never answered our INVITE.',
        advice: 'Check host and port; many carriers drop what comes from an address that they don’t know.',
        evidence: [0],
      },
    },
  },
  monitor_call: {
    request: { mode: 'listen' },
    answer: { monitor_id: MONITOR, mode: 'listen', ...seat, expires_in: 600 },
  },
  unmonitor_call: gone(MONITOR),
  create_realtime_session: {
    request: { project_id: PROJECT, vars: { name: 'Anna' }, contact: { name: 'Anna', phone: PHONE } },
    answer: { ...seat, expires_in: 3600 },
  },
}
