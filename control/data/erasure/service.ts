/**
 * Erases persons: one call, or everything of a phone number (152-FZ, article 21; GDPR, article 17). Money records stay
 * without personal data. Rows are locked in the same order as elsewhere: call, campaign contact, contact, counters.
 */

import { bumpCampaign, type CounterChange } from '../../outreach/campaigns/pacer-sql.ts'
import { againWhenReferenced } from '../../platform/db/again.ts'
import type { Db, Tx } from '../../platform/db/connect.ts'
import { type Deps, wallDate } from '../../platform/deps.ts'
import { notFound, Problem } from '../../platform/http/problem.ts'
import { uuidv7 } from '../../platform/ids.ts'
import { deleteContact } from '../../telephony/contacts/sql.ts'
import { deleteDoNotCall, insertDoNotCall } from '../../telephony/do-not-call/sql.ts'
import { eraseCalls } from './calls.ts'
import type { ErasureInput } from './schema.ts'
import {
  bareDoNotCall,
  deleteDeliveriesOf,
  deleteDirectoryRows,
  forgetAnswers,
  forgetDialled,
  forgetLeads,
  forgetSessions,
  lockCallsWith,
  lockContactOf,
  lockOne,
  selectMentions,
} from './sql.ts'

type Ports = Pick<Deps, 'sql' | 'clock' | 'blobs' | 'config'>

const MOST_MENTIONS = 100

const assertEnded = (calls: readonly { ended_at: Date | null }[]) => {
  if (calls.every(call => call.ended_at !== null)) return
  throw new Problem('invalid_transition', { detail: 'A call is in progress. Hang up, or wait until it ends.' })
}

/** Response to a repeated request whose result was erased. */
const goneAnswer = ({ config, clock }: Ports) => {
  const problem = notFound()
  const document = problem.toDocument(config.base_url, uuidv7(clock.wall()))
  return { status: problem.status, body: JSON.stringify(document) }
}

export async function eraseCall(deps: Ports, ownerId: string, id: string): Promise<void> {
  await deps.sql.begin(async tx => {
    const call = await lockOne(tx, ownerId, id)
    if (!call) throw notFound()
    assertEnded([call])
    await eraseCalls(deps, tx, ownerId, [id], wallDate(deps))
    await forgetCopies(deps, tx, ownerId, [id])
  })
}

/** Erases copies of these texts in webhook deliveries and in stored responses. */
async function forgetCopies(deps: Ports, tx: Tx, ownerId: string, texts: readonly string[]): Promise<void> {
  await deleteDeliveriesOf(tx, ownerId, texts)
  await forgetAnswers(tx, ownerId, texts, goneAnswer(deps))
}

export async function erasePerson(
  deps: Ports,
  ownerId: string,
  { phone, do_not_call }: ErasureInput,
  save: (db: Db, answer: unknown) => Promise<void> = async () => {},
) {
  return againWhenReferenced(() =>
    deps.sql.begin(async tx => {
      const calls = await lockCallsWith(tx, ownerId, phone)
      assertEnded(calls)
      const ids = calls.map(call => call.id)
      if (ids.length > 0) await eraseCalls(deps, tx, ownerId, ids, wallDate(deps))
      const campaign_contacts = await forgetFromCampaigns(tx, ownerId, phone)
      const contact = await lockContactOf(tx, ownerId, phone)
      if (contact) await deleteContact(tx, ownerId, contact)
      const leads = await forgetLeads(tx, ownerId, phone)
      await deleteDirectoryRows(tx, ownerId, phone)
      await forgetSessions(tx, ownerId, phone)
      await forgetCopies(deps, tx, ownerId, [phone, ...ids, ...(contact ? [contact] : [])])
      const listed = await settleDoNotCall(deps, tx, ownerId, phone, do_not_call)
      const mentions = await selectMentions(tx, ownerId, phone, MOST_MENTIONS)
      const answer = {
        contacts: contact ? 1 : 0,
        calls: ids.length,
        campaign_contacts,
        leads,
        do_not_call: listed,
        mentions,
      }
      await save(tx, answer)
      return answer
    }),
  )
}

async function forgetFromCampaigns(tx: Tx, ownerId: string, phone: string): Promise<number> {
  const rows = await forgetDialled(tx, ownerId, phone)
  for (const { campaign_id, status } of rows) {
    if (!/^(?:pending|no_answer|busy|failed)$/.test(status)) continue
    await bumpCampaign(tx, campaign_id, { [status]: -1, skipped: 1 } as CounterChange)
  }
  return rows.length
}

async function settleDoNotCall(
  deps: Ports,
  tx: Tx,
  ownerId: string,
  phone: string,
  wish: ErasureInput['do_not_call'],
): Promise<boolean> {
  if (wish === 'forget') {
    await deleteDoNotCall(tx, ownerId, phone)
    return false
  }
  if (wish === 'add') {
    await insertDoNotCall(tx, ownerId, { phone, source: 'api', note: null, created_at: wallDate(deps) })
  }
  return bareDoNotCall(tx, ownerId, phone)
}
