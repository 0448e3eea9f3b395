/** Examples of lead search: the restaurant looks for offices that may order lunch. */
import { campaignExamples } from './campaigns.ts'
import { CONTACT, gone, money, PHONE, page } from './common.ts'

const JOB = '0195f2c9-64a7-7f81-95ea-9b4c2a3f1e85'
const LEAD = '0195f2c9-75b8-7092-a6fb-ac5d3b402f96'
const DIRECTORY = '0195f2c9-86c9-71a3-b70c-bd6e4c513a07'
const STARTED = '2026-03-02T10:00:00.000Z'
const FOUND = '2026-03-02T10:00:04.120Z'
const ENDED = '2026-03-02T10:06:31.000Z'

const brief_raw = 'I need 30 law firms in Oakland with more than ten people, open on Fridays, no chains'
const brief_parsed = {
  niche: 'law firms',
  geo: 'Oakland',
  signals: ['more than ten people', 'open on Fridays'],
  exclusions: ['chains'],
  target_leads: 30,
  queries: ['law firms Oakland'],
}
const estimate = { leads: 30, price_per_lead: money('10.0000'), total: money('300.0000') }
const source = {
  id: 'openstreetmap',
  name: 'OpenStreetMap',
  attribution: '© OpenStreetMap contributors',
  licence: 'ODbL-1.0',
}

const queued = {
  id: JOB,
  status: 'queued',
  end_reason: null,
  brief_raw,
  brief_parsed,
  progress: { found: 0, enriched: 0, rejected: 0, target: 30 },
  estimate,
  cost: money('0.0000'),
  sources: [source.id],
  problems: [],
  error: null,
  campaign_id: null,
  created_at: STARTED,
  started_at: null,
  ended_at: null,
}
const running = {
  ...queued,
  status: 'running',
  progress: { found: 21, enriched: 12, rejected: 4, target: 30 },
  cost: money('120.0000'),
  started_at: STARTED,
}
const completed = {
  ...running,
  status: 'completed',
  end_reason: 'target_reached',
  progress: { found: 52, enriched: 30, rejected: 19, target: 30 },
  cost: money('300.0000'),
  ended_at: ENDED,
}

const lead = {
  id: LEAD,
  company: 'Harbor Law',
  status: 'enriched',
  phone: PHONE,
  phones: [PHONE],
  email: 'office@harbor.example',
  emails: ['office@harbor.example'],
  website: 'https://harbor.example/',
  address: '12 Broadway, Oakland',
  geo: { lat: 37.8044, lon: -122.2712 },
  score: 80,
  reasons: [{ points: 40, text: 'The telephone number stands on its site' }],
  signals: [
    {
      signal: 'more than ten people',
      present: true,
      evidence: 'Our team of 14 attorneys',
      where: 'https://harbor.example/team',
    },
    { signal: 'open on Fridays', present: false, evidence: null, where: null },
  ],
  source: source.id,
  attribution: source.attribution,
  licence: source.licence,
  rejection: null,
  site_problem: null,
  contact_id: CONTACT,
  created_at: FOUND,
  enriched_at: FOUND,
}

const directory = { id: DIRECTORY, name: 'partners.csv', companies: 240, created_at: STARTED }

export const leadExamples = {
  parse_lead_brief: {
    request: { brief_raw },
    answer: { brief_parsed, estimate, sources: [source], missing: [] },
  },
  start_lead_search: { request: { brief_raw, brief_parsed, accept_terms: true }, answer: queued },
  list_lead_searches: { answer: page(completed) },
  get_lead_search: { answer: running },
  stream_lead_search_events: {
    answer: {
      event: 'lead_search.progress',
      data: JSON.stringify({
        status: running.status,
        end_reason: running.end_reason,
        progress: running.progress,
        cost: running.cost,
        problems: running.problems,
        error: running.error,
      }),
    },
  },
  cancel_lead_search: { answer: { ...running, status: 'canceling' } },
  delete_lead_search: gone(running.id),
  create_lead_campaign: { request: { name: 'Lunch for offices' }, answer: campaignExamples.create_campaign.answer },
  list_leads: { answer: page(lead) },
  export_leads: {
    answer:
      '\uFEFFcompany,status,score,phone,other_phones,email,other_emails,website,address,lat,lon,rejection,source,attribution,licence,contact_id,enriched_at,signal: open on Fridays\r\n',
  },
  list_lead_directories: { answer: page(directory) },
  add_lead_directory: {
    request: { file: 'partners.csv' },
    answer: {
      ...directory,
      columns: [
        { header: 'Company', column: 'company' },
        { header: 'Phone', column: 'phone' },
        { header: 'Since', column: null },
      ],
      invalid: [{ index: 17, code: 'no_contact' }],
      invalid_total: 1,
    },
  },
  get_lead_directory: { answer: directory },
  update_lead_directory: { request: { name: 'Partners' }, answer: { ...directory, name: 'Partners' } },
  delete_lead_directory: gone(DIRECTORY),
}
