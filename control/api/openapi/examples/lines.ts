import { CALLED, CREATED, ENDED, gone, LINE, PROJECT, page, SOFTPHONE, TRUNK } from './common.ts'

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

export const lineExamples = {
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
        {
          name: 'dns',
          host: 'sip.example.com:5060',
          ok: false,
          message: 'sip.example.com does not exist in DNS.',
          ms: 12,
        },
      ],
      messages: [],
      omitted: 0,
      diagnosis: {
        code: 'dns_failed',
        message: 'sip.example.com does not exist in DNS.',
        advice: 'Check the host’s spelling and this machine’s DNS.',
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
}
