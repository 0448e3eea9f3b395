import { CALL, CALLED, CREATED, gone, KEY, money, PHONE, page } from './common.ts'

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

const spent = (calls: string, web: string, leads: string) => ({
  calls: money(calls),
  web: money(web),
  leads: money(leads),
})

const limits = {
  destinations: ['+374', '+7'],
  max_spend_a_day: money('500.0000'),
  spent_today: money('42.5000'),
  held: money('5.0000'),
}

const retention = { recordings_days: 30, transcripts_days: 180, phones_days: null }

const credentials = { email: 'anna@example.com', password: 'correct horse battery' }
const session = {
  account_id: '0195f2bd-5e28-72a5-9d84-be508fc2a367',
  name: 'Aurora',
  email: credentials.email,
  expires_at: '2026-04-01T09:12:00.000Z',
}

export const accountExamples = {
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
      job_id: null,
      description: 'Hold for a call',
      created_at: CALLED,
    }),
  },
  get_spend: {
    answer: {
      from: '2026-03-01',
      to: '2026-03-02',
      timezone: 'Europe/Moscow',
      total: money('7.5000'),
      items: [
        { date: '2026-03-01', spent: money('0.0000'), by_kind: spent('0.0000', '0.0000', '0.0000') },
        { date: '2026-03-02', spent: money('7.5000'), by_kind: spent('5.0000', '2.5000', '0.0000') },
      ],
    },
  },
  get_limits: { answer: limits },
  update_limits: { request: { destinations: ['+7', '+374'], max_spend_a_day: '500' }, answer: limits },
  get_retention: { answer: retention },
  update_retention: { request: { recordings_days: 30, transcripts_days: 180 }, answer: retention },
  get_audit: {
    answer: {
      items: [
        {
          id: '0195f2c4-7a10-7c3e-9b1d-5e8f2a6c4d02',
          at: CALLED,
          actor: 'key',
          actor_id: KEY,
          channel: 'rest',
          address: '192.0.2.7',
          operation: 'place_call',
          resource: CALL,
          request_id: '0195f2c4-7a10-7c3e-9b1d-5e8f2a6c4d03',
          outcome: 'done',
          code: null,
        },
      ],
      next_cursor: null,
    },
  },
  erase_person: {
    request: { phone: PHONE, do_not_call: 'keep' },
    answer: { contacts: 1, calls: 3, campaign_contacts: 1, leads: 0, do_not_call: false, mentions: [] },
  },
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
  delete_account: { request: { password: credentials.password }, answer: { closed: true } },
  log_out: { answer: { sessions_ended: 1 } },
  log_out_everywhere: { answer: { sessions_ended: 3 } },
  request_password_reset: { request: { email: credentials.email }, answer: { sent: true } },
  confirm_password_reset: {
    request: { token: 'the-code-of-the-mail', password: 'staple staple staple' },
    answer: { password_set: true },
  },
}
