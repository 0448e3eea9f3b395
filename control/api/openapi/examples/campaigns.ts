/** Examples of campaign operations. */
import { money, PROJECT, page } from './common.ts'

const CAMPAIGN = '0195f2c8-42e5-7d69-b3c8-7f2a0e1d9c63'
const ENTRY = '0195f2c8-53f6-7e70-84d9-8a3b1f2e0d74'
const CREATED = '2026-03-02T09:20:00.000Z'
const STARTED = '2026-03-02T09:25:00.000Z'

const params = {
  timezone: 'Europe/Moscow',
  window_start: '10:00',
  window_end: '19:00',
  days: [1, 2, 3, 4, 5],
  concurrency: 5,
  retries: 2,
  retry_interval_min: 30,
  quiet_hours: { start: '21:00', end: '08:00' },
  scheduled_start_at: null,
  max_spend: '500.0000',
  resume_on_top_up: false,
}
const none = {
  total: 0,
  pending: 0,
  dialing: 0,
  in_progress: 0,
  completed: 0,
  no_answer: 0,
  busy: 0,
  failed: 0,
  skipped: 0,
  canceled: 0,
  goal_reached: 0,
}
const ask = {
  name: 'Spring menu',
  project_id: PROJECT,
  task: 'Invite {{name}} to the tasting on Friday at seven, and ask how many will come.',
}
const draft = {
  id: CAMPAIGN,
  ...ask,
  status: 'draft',
  pause_reason: null,
  params,
  counters: none,
  minute_price: money('5.0000'),
  spend: money('0.0000'),
  consent: null,
  created_at: CREATED,
  updated_at: CREATED,
  started_at: null,
  completed_at: null,
}
const running = {
  ...draft,
  status: 'running',
  counters: { ...none, total: 2, pending: 1, in_progress: 1 },
  consent: {
    confirmed_at: STARTED,
    text: 'I confirm that every subscriber on the contact list of this campaign has consented to these calls.',
    key_id: '0195f2be-c3f7-7194-8c73-ad4f7eb19256',
    session_id: null,
  },
  updated_at: STARTED,
  started_at: STARTED,
}
const paused = { ...running, status: 'paused', pause_reason: 'owner' }
const stopped = {
  ...running,
  status: 'stopped',
  counters: { ...none, total: 2, completed: 1, canceled: 1, goal_reached: 1 },
  spend: money('7.2500'),
  completed_at: '2026-03-02T09:40:00.000Z',
}
const entry = {
  id: ENTRY,
  phone: '+14155550123',
  name: 'Anna',
  vars: { name: 'Anna' },
  contact_id: null,
  status: 'pending',
  attempts: 0,
  next_attempt_at: null,
  last_call_id: null,
  skip_reason: null,
  goal_reached: null,
  created_at: CREATED,
}

export const campaignExamples = {
  list_campaigns: { answer: page(running) },
  create_campaign: { request: { ...ask, params }, answer: draft },
  get_campaign: { answer: running },
  update_campaign: {
    request: { params: { concurrency: 10 } },
    answer: { ...draft, params: { ...params, concurrency: 10 } },
  },
  delete_campaign: { answer: { id: CAMPAIGN, deleted: true } },
  upload_campaign_contacts: {
    request: [
      { phone: '+1 (415) 555-0123', name: 'Anna', vars: { name: 'Anna' } },
      { phone: '415 555 0124', vars: { name: 'Boris' } },
      { phone: '555' },
    ],
    answer: { accepted: 2, duplicates: 0, invalid: [{ index: 2, code: 'phone' }], total: 2 },
  },
  list_campaign_contacts: { answer: page(entry) },
  explain_campaign_contact: {
    answer: {
      would_dial: false,
      decision: 'wait',
      reasons: [{ code: 'outside_window', message: 'The time is outside the calling window of the campaign' }],
      until: '2026-03-03T07:00:00.000Z',
      status: 'pending',
      campaign_status: 'running',
      attempts: 0,
      attempts_left: 3,
    },
  },
  start_campaign: { request: { consent: true }, answer: running },
  pause_campaign: { answer: paused },
  resume_campaign: { answer: running },
  stop_campaign: { answer: stopped },
  requeue_campaign: { answer: running },
  stream_campaign_events: {
    answer: {
      event: 'campaign.progress',
      data: JSON.stringify({
        status: running.status,
        pause_reason: null,
        counters: running.counters,
        spend: running.spend,
      }),
    },
  },
  get_campaign_results: {
    answer:
      '\uFEFFphone,name,status,goal_reached,attempts,skip_reason,last_call_id,last_call_ended_at,last_call_ended_reason,answered_by,duration_seconds,summary,vars.name,extracted.guests\r\n',
  },
}
