import { CREATED, GREETING, gone, PROJECT, page, SOURCE } from './common.ts'

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
  greeting: GREETING,
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
  llm: { provider: 'anthropic', model: 'claude-haiku-4-5', api_key_secret: 'ANTHROPIC_KEY' },
  llm_fallback: [{ provider: 'google', model: 'gemini-3-flash', api_key_secret: 'GOOGLE_KEY' }],
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

const source = {
  id: SOURCE,
  kind: 'text',
  name: 'House rules',
  status: 'pending',
  chunks: 0,
  pages: 0,
  skipped: [],
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

const secret = { name: 'TABLES_KEY', updated_at: CREATED }

export const projectExamples = {
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
      status: 'ok',
      http_status: 200,
      ms: 412,
      result: '{"free":true}',
    },
  },
  list_secrets: { answer: page(secret) },
  set_secret: { request: { name: 'TABLES_KEY', value: 'k-31337' }, answer: secret },
  delete_secret: gone('TABLES_KEY'),
}
