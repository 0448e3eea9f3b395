import { CALLED, CONTACT, CREATED, gone, PHONE, PROJECT, page } from './common.ts'

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

const unwanted = { phone: PHONE, source: 'api', note: 'Asked by mail', created_at: CREATED }

export const contactExamples = {
  list_contacts: { answer: page(contact) },
  get_contact: { answer: contact },
  update_contact: { request: { notes: 'Prefers the window', lead_status: 'hot' }, answer: contact },
  delete_contact: gone(CONTACT),
  list_do_not_call: { answer: page(unwanted) },
  add_do_not_call: { request: { phone: PHONE, note: 'Asked by mail' }, answer: unwanted },
  remove_do_not_call: gone(PHONE),
}
