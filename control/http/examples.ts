/** One example of request and answer for each operation, by its `operationId`; they tell one story. */
import { campaignExamples } from './examples-campaigns.ts'

interface Example {
  request?: unknown
  answer?: unknown
}

const PROJECT = '0195f2c0-11a4-7b52-8e6f-3c1d9a7b2e01'
const CALL = '0195f2c4-7a10-7c3e-9b1d-5e8f2a6c4d01'
const CONTACT = '0195f2c4-8b22-7d4f-8c2e-6f903b7d5e12'
const TRUNK = '0195f2bf-90d3-7e61-9f40-7a1c4b8e6f23'
const WEBHOOK = '0195f2c1-a7c5-7f72-8a51-8b2d5c9f7034'
const DELIVERY = '0195f2c5-02e6-7083-9b62-9c3e6da08145'
const MONITOR = '0195f2c4-9c33-7e60-9d4f-7fa14c8e6f23'
const KEY = '0195f2be-c3f7-7194-8c73-ad4f7eb19256'
const SOFTPHONE = '0195f2c6-13f7-7294-8c73-ad4f7eb19267'
const SOURCE = '0195f2c7-25b8-73a6-8f11-4d0c9b8a7e65'
const PHONE = '+14155550123'
const LINE = '+14155550100'
const CREATED = '2026-03-02T09:12:00.000Z'
const CALLED = '2026-03-02T09:14:05.120Z'
const ANSWERED = '2026-03-02T09:14:12.480Z'
const ENDED = '2026-03-02T09:15:42.318Z'

const money = (amount: string) => ({ amount, currency: 'RUB' })
const page = (...items: unknown[]) => ({ items, total: items.length, limit: 50, offset: 0 })
const gone = (id: string) => ({ answer: { id, deleted: true } })

const checkTable = {
  name: 'check_table',
  description: 'Says whether a table is free',
  method: 'GET',
  url: 'https://api.example.com/tables/{day}',
  parameters: {
    type: 'object',
    properties: { day: { type: 'string' }, guests: { type: 'integer' } },
    required: ['day'],
  },
  filler: 'One moment, I am looking.',
  headers: { Authorization: 'Bearer {{secret:TABLES_KEY}}' },
  timeout_ms: 5000,
}

const ask = {
  name: 'Table reservations',
  language: 'en',
  prompt: 'You take reservations for the restaurant Aurora. The guest is called {{name}}.',
  greeting: 'Good day, this is Aurora. How can I help?',
  goal: 'A table is booked.',
  extraction: { type: 'object', properties: { guests: { type: 'integer' }, time: { type: 'string' } } },
  tools: [checkTable],
  transfers: [
    { name: 'Hall', to: 'browser', description: 'When the guest has an allergy', announce: null },
    {
      name: 'Kitchen',
      to: '+74951234568',
      description: 'When the guest asks for the chef',
      announce: 'A guest of the restaurant is on the line. {{about}}',
    },
  ],
  remember: false,
  timezone: 'Europe/Moscow',
}

const project = {
  id: PROJECT,
  ...ask,
  disclosure: null,
  voice: null,
  brain: { kind: 'anthropic', model: 'claude-haiku-4-5', api_key_secret: 'ANTHROPIC_KEY' },
  brain_fallback: [{ kind: 'google', model: 'gemini-3-flash', api_key_secret: 'GOOGLE_KEY' }],
  speech_to_text: [{ provider: 'deepgram', model: 'nova-3', api_key_secret: 'DEEPGRAM_KEY' }],
  text_to_speech: [
    { provider: 'elevenlabs', voice: '21m00Tcm4TlvDq8ikWAM', model: null, api_key_secret: 'ELEVENLABS_KEY' },
  ],
  max_call_seconds: 600,
  ring_timeout_seconds: 45,
  voicemail: { action: 'hangup' },
  recording: true,
  recording_notice: 'This call is recorded.',
  caller_id: null,
  created_at: CREATED,
  updated_at: CREATED,
}

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
  text: ask.greeting,
  heard_text: ask.greeting,
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
      verdict: 'ok',
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

const contact = {
  id: CONTACT,
  phone: PHONE,
  name: 'Anna',
  notes: 'Prefers the window',
  tags: ['regular'],
  lead_status: 'hot',
  channel: 'phone',
  project_ids: [PROJECT],
  last_call_at: CALLED,
  do_not_call: false,
  consent: null,
  created_at: CALLED,
}

const number = {
  number: LINE,
  trunk_id: TRUNK,
  trunk_name: 'Carrier',
  status: 'bound',
  bindings: [{ project_id: PROJECT, direction: 'both' }],
}

const newTrunk = {
  name: 'Carrier',
  mode: 'register',
  host: 'sip.example.com',
  username: 'aurora',
  numbers: [LINE],
}
const softphone = {
  id: SOFTPHONE,
  name: 'Desk',
  project_id: PROJECT,
  username: 'phone-k3m9x2pw',
  settings: { server: 'sip.example.com', port: 5060, transports: ['udp', 'tcp'], realm: 'parley', dial: 'agent' },
  status: {
    registered: true,
    contacts: [{ address: '203.0.113.9:40111', transport: 'udp', user_agent: 'Linphone/5.2', expires_at: ENDED }],
    last_seen_at: CALLED,
  },
  created_at: CREATED,
}
const softphoneWithPassword = {
  ...softphone,
  status: { registered: false, contacts: [], last_seen_at: null },
  password: 'k7mn-2qxe-vxam-pme9',
}

const trunk = {
  ...newTrunk,
  id: TRUNK,
  port: 5060,
  transport: 'udp',
  hosts: [{ host: 'sip2.example.com', port: 5060, transport: 'udp' }],
  options_interval_seconds: 30,
  realm: null,
  outbound_proxy: null,
  allowed_ips: [],
  codecs: ['PCMA', 'PCMU'],
  srtp: 'off',
  max_calls: null,
  max_cps: null,
  from_user: null,
  from_domain: null,
  pai: 'never',
  privacy: 'none',
  number_format: 'plus',
  region: null,
  transfer: 'refer',
  fallback_number: null,
  refusal_announcement: null,
  refusal_language: 'en',
  status: {
    registration: 'registered',
    last_options_ms: 18,
    hosts: [
      { host: 'sip.example.com', port: 5060, transport: 'udp', alive: true, options_ms: 18, targets: [] },
      { host: 'sip2.example.com', port: 5060, transport: 'udp', alive: true, options_ms: 23, targets: [] },
    ],
    last_error: null,
    changed_at: CREATED,
  },
  created_at: CREATED,
}

const webhook = {
  id: WEBHOOK,
  url: 'https://example.com/hooks/parley',
  events: ['call.completed', 'call.failed'],
  enabled: true,
  disabled_reason: null,
  created_at: CREATED,
}
const webhookWithSecret = { ...webhook, secret: 'whsec_ZXhhbXBsZS1leGFtcGxlLWV4YW1wbGUtZXhhbXBsZSE=' }
const delivery = {
  id: DELIVERY,
  event: 'call.completed',
  status: 'delivered',
  created_at: ENDED,
  next_attempt_at: null,
  attempts: [{ attempt: 1, at: ENDED, http_status: 204, error: null, ms: 38, response: null }],
}
const waiting = { ...delivery, status: 'pending', attempts: [] }

const key = {
  id: KEY,
  name: 'Production',
  scopes: ['read', 'write'],
  prefix: 'svc_3kTq',
  created_at: CREATED,
  expires_at: null,
  last_used_at: null,
  revoked_at: null,
}

const source = {
  id: SOURCE,
  kind: 'text',
  name: 'House rules',
  status: 'pending',
  chunks: 0,
  pages: 0,
  error: null,
  created_at: CREATED,
}
const passage = {
  chunk_id: '0195f2c7-31d4-7c58-a2b7-6e1f0d9c8b52',
  source_id: SOURCE,
  source: source.name,
  heading: 'Pets',
  text: 'Dogs are welcome on the terrace.',
  url: null,
  score: 0.92,
}

const unwanted = { phone: PHONE, source: 'api', note: 'Asked by mail', created_at: CREATED }
const secret = { name: 'TABLES_KEY', updated_at: CREATED }
const credentials = { email: 'anna@example.com', password: 'correct horse battery' }
const session = {
  account_id: '0195f2bd-5e28-72a5-9d84-be508fc2a367',
  name: 'Aurora',
  email: credentials.email,
  expires_at: '2026-04-01T09:12:00.000Z',
}

export const examples: Record<string, Example> = {
  place_call: { request: { project_id: PROJECT, phone: PHONE, vars: { name: 'Anna' } }, answer: queued },
  list_calls: { answer: page(ended) },
  get_call: { answer: callDetail },
  hang_up_call: { answer: { ...queued, status: 'canceled', ended_at: ENDED, ended_reason: 'canceled_by_api' } },
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
          made_up: false,
          start_line: 'INVITE sip:+14155550123@sip.example.com SIP/2.0',
          text: 'INVITE sip:+14155550123@sip.example.com SIP/2.0\r\n…',
        },
      ],
      left_out: 0,
      diagnosis: {
        code: 'no_response',
        words: '198.51.100.20:5060 never answered our INVITE.',
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

  list_projects: { answer: { projects: [{ id: PROJECT, name: ask.name, language: 'en' }] } },
  create_project: { request: ask, answer: project },
  get_project: { answer: project },
  update_project: { request: { max_call_seconds: 900 }, answer: { ...project, max_call_seconds: 900 } },
  delete_project: gone(PROJECT),

  list_knowledge: { answer: page({ ...source, status: 'ready', chunks: 12, pages: 1 }) },
  add_knowledge: {
    request: { type: 'text', title: source.name, content: '# Pets\n\nDogs are welcome on the terrace.' },
    answer: source,
  },
  add_knowledge_file: { request: { file: 'menu.pdf' }, answer: { ...source, kind: 'file', name: 'menu.pdf' } },
  delete_knowledge: gone(SOURCE),
  search_knowledge: { request: { query: 'May I bring my dog?', limit: 1 }, answer: { items: [passage] } },
  test_tool: {
    request: { arguments: { day: 'friday', guests: 4 } },
    answer: {
      request: {
        method: 'GET',
        url: 'https://api.example.com/tables/friday?guests=4',
        header_names: ['Authorization'],
        body: null,
      },
      verdict: 'ok',
      http_status: 200,
      ms: 412,
      result: '{"free":true}',
    },
  },
  list_secrets: { answer: page(secret) },
  set_secret: { request: { name: 'TABLES_KEY', value: 'k-31337' }, answer: secret },
  delete_secret: gone('TABLES_KEY'),

  list_contacts: { answer: page(contact) },
  get_contact: { answer: contact },
  update_contact: { request: { notes: 'Prefers the window', lead_status: 'hot' }, answer: contact },

  ...campaignExamples,

  list_do_not_call: { answer: page(unwanted) },
  add_do_not_call: { request: { phone: PHONE, note: 'Asked by mail' }, answer: unwanted },
  remove_do_not_call: gone(PHONE),

  list_trunks: { answer: page(trunk) },
  create_trunk: { request: { ...newTrunk, password: 'a carrier gave it' }, answer: trunk },
  get_trunk: { answer: trunk },
  update_trunk: { request: { max_calls: 10 }, answer: { ...trunk, max_calls: 10 } },
  check_trunk: {
    answer: {
      trunk_id: TRUNK,
      checked_at: CALLED,
      ok: false,
      checks: [
        { name: 'dns', host: 'sip.example.com:5060', ok: false, words: 'DNS knows no sip.example.com.', ms: 12 },
      ],
      messages: [],
      left_out: 0,
      diagnosis: {
        code: 'dns_failed',
        words: 'DNS knows no sip.example.com.',
        advice: 'Check the spelling of the host, and the DNS of this machine.',
        evidence: [],
      },
      ladder: 'SIP messages of a check of trunk …',
    },
  },
  delete_trunk: gone(TRUNK),

  list_softphones: { answer: page(softphone) },
  create_softphone: { request: { name: 'Desk', project_id: PROJECT }, answer: softphoneWithPassword },
  get_softphone: { answer: softphone },
  update_softphone: { request: { name: 'Kitchen' }, answer: { ...softphone, name: 'Kitchen' } },
  renew_softphone_password: { answer: softphoneWithPassword },
  delete_softphone: gone(SOFTPHONE),

  list_numbers: { answer: page(number) },
  bind_number: { request: { number: LINE, direction: 'both' }, answer: number },
  unbind_number: gone(LINE),

  get_balance: {
    answer: {
      balance: money('92.5000'),
      held: money('0.0000'),
      minute_price: money('5.0000'),
      subscription: { status: 'active', ends_at: '2026-03-16T09:12:00.000Z' },
    },
  },
  list_balance_entries: {
    answer: page({
      id: '0195f2c4-7a11-73b6-8e95-cf6190d3b478',
      kind: 'hold',
      amount: money('-5.0000'),
      balance_after: money('95.0000'),
      call_id: CALL,
      description: 'Set aside for a call',
      created_at: CALLED,
    }),
  },

  list_webhooks: { answer: page(webhook) },
  create_webhook: { request: { url: webhook.url, events: webhook.events }, answer: webhookWithSecret },
  get_webhook: { answer: webhook },
  update_webhook: { request: { enabled: false }, answer: { ...webhook, enabled: false } },
  delete_webhook: gone(WEBHOOK),
  rotate_webhook_secret: { answer: webhookWithSecret },
  list_webhook_deliveries: { answer: page(delivery) },
  get_webhook_delivery: { answer: delivery },
  test_webhook: { answer: { ...waiting, event: 'test' } },
  replay_webhook_delivery: { answer: waiting },

  list_keys: { answer: page(key) },
  create_key: {
    request: { name: 'Production', scopes: ['read', 'write'] },
    answer: { ...key, value: 'svc_3kTqEXAMPLEexampleEXAMPLEexampleEXAMPLE01234' },
  },
  revoke_key: gone(KEY),

  sign_up: { request: { ...credentials, name: 'Aurora' }, answer: session },
  log_in: { request: credentials, answer: session },
  get_session: { answer: session },
  change_password: { request: { current: credentials.password, new: 'staple staple staple' }, answer: session },
  log_out: { answer: { sessions_ended: 1 } },
  log_out_everywhere: { answer: { sessions_ended: 3 } },
  request_password_reset: { request: { email: credentials.email }, answer: { sent: true } },
  confirm_password_reset: {
    request: { token: 'the-code-of-the-mail', password: 'staple staple staple' },
    answer: { password_set: true },
  },
}
