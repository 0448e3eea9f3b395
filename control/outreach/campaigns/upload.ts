/** Uploads contacts to a draft. Each row is checked separately, and all valid rows are inserted together. */
import { setImmediate } from 'node:timers/promises'
import { rejectedTexts } from '../../agents/moderation/moderation.ts'
import { dialingLimitsOf } from '../../billing/limits/service.ts'
import type { Db } from '../../platform/db/connect.ts'
import { type Deps, wallDate } from '../../platform/deps.ts'
import { notFound, Problem } from '../../platform/http/problem.ts'
import { uuidv7 } from '../../platform/ids.ts'
import { inBackground } from '../../platform/jobs/background.ts'
import { blockedReason, type DialingLimits, readPhone, regionOf } from '../../platform/phone.ts'
import { textVars } from '../../telephony/call-setup/plan.ts'
import { homeRegionOf } from '../../telephony/trunks/home.ts'
import { isDraft } from './lifecycle.ts'
import { ContactEntry, type InvalidCode, type UploadMode } from './schema.ts'
import {
  type CountedCampaign,
  deleteContacts,
  insertContacts,
  lockCampaign,
  type NewContact,
  renewStatistics,
  selectCampaign,
  selectLines,
} from './sql.ts'

/** Maximum of one campaign over all its uploads. */
export const MOST_CONTACTS = 1_000_000

/** An upload of this size may change how Postgres should search the contacts. */
const MANY = 1000

type Save = (db: Db, answer: unknown) => Promise<void>
type Ports = Pick<Deps, 'sql' | 'clock' | 'fetch' | 'log' | 'config'>

export interface Invalid {
  index: number
  code: InvalidCode
}

export interface UploadAnswer {
  accepted: number
  duplicates: number
  invalid: Invalid[]
  total: number
}

export async function uploadContacts(
  deps: Ports,
  ownerId: string,
  campaignId: string,
  { entries, mode }: { entries: unknown[]; mode: UploadMode },
  save: Save = async () => {},
): Promise<UploadAnswer> {
  const campaign = assertDraft(await selectCampaign(deps.sql, ownerId, campaignId))
  const region = await regionOfCampaign(deps.sql, ownerId, campaign.project_id)
  const reading = await readEntries(entries, { region, dialingLimits: await dialingLimitsOf(deps, deps.sql, ownerId) })
  const { good, invalid } = await passTexts(deps, reading)
  const at = wallDate(deps)
  const contacts = good.map(({ phone, name, vars }) => ({ id: uuidv7(at.getTime()), phone, name, vars }))
  const answer = await deps.sql.begin(async tx => {
    const locked = assertDraft(await lockCampaign(tx, ownerId, campaignId))
    if (mode === 'replace') await deleteContacts(tx, ownerId, campaignId)
    const accepted = await insertContacts(tx, ownerId, campaignId, contacts, at)
    const total = (mode === 'replace' ? 0 : locked.total) + accepted
    if (total > MOST_CONTACTS) {
      throw new Problem('limit_reached', { detail: `A campaign may have at most ${MOST_CONTACTS} contacts.` })
    }
    const duplicates = reading.duplicates + contacts.length - accepted
    const answer = { accepted, duplicates, invalid, total }
    await save(tx, answer)
    return answer
  })
  if (answer.accepted >= MANY) inBackground(deps, 'table statistics were not updated', renewStatistics(deps.sql))
  return answer
}

function assertDraft(campaign: CountedCampaign | undefined): CountedCampaign {
  if (!campaign) throw notFound()
  if (!isDraft(campaign)) throw new Problem('campaign_started')
  return campaign
}

/** Region of numbers without a country code: from the project's line, or else from the account's first trunk. */
async function regionOfCampaign(db: Db, ownerId: string, projectId: string): Promise<string | null> {
  const { region, lines } = await selectLines(db, ownerId, projectId)
  if (lines[0]) return region ?? regionOf(lines[0].number)
  return homeRegionOf(db, ownerId)
}

// ---- Rows ----

interface Entry extends Omit<NewContact, 'id'> {
  index: number
}

export interface Reading {
  /** Each number once, in order. */
  good: Entry[]
  duplicates: number
  invalid: Invalid[]
}

/** Rows that take about 10 ms; then other work may run. */
const AT_A_TIME = 500

export async function readEntries(
  entries: readonly unknown[],
  context: { region: string | null; dialingLimits: DialingLimits },
): Promise<Reading> {
  const byPhone = new Map<string, Entry>()
  const reading: Reading = { good: [], duplicates: 0, invalid: [] }
  for (const [index, row] of entries.entries()) {
    if (index > 0 && index % AT_A_TIME === 0) await setImmediate()
    const entry = readEntry(row, context)
    if (typeof entry === 'string') reading.invalid.push({ index, code: entry })
    else if (byPhone.has(entry.phone)) reading.duplicates++
    else byPhone.set(entry.phone, { index, ...entry })
  }
  return { ...reading, good: [...byPhone.values()] }
}

function readEntry(
  row: unknown,
  { region, dialingLimits }: Parameters<typeof readEntries>[1],
): Omit<Entry, 'index'> | InvalidCode {
  const { data, error } = ContactEntry.safeParse(row)
  if (error) {
    const [issue] = error.issues
    if (issue?.code === 'unrecognized_keys') return 'unknown_field'
    return (issue?.path[0] as 'phone' | 'name' | 'vars' | undefined) ?? 'not_an_object'
  }
  const phone = readPhone(data.phone, region)
  if (phone === null) return 'phone'
  return blockedReason(phone, dialingLimits) ?? { phone, name: data.name || null, vars: textVars(data.vars) }
}

// ---- Moderation of the texts ----

/** Texts in one request to the moderation model. */
const TEXTS_AT_A_TIME = 500

/** Lists repeat themselves, so each text is checked once. */
async function passTexts(deps: Ports, { good, invalid }: Reading): Promise<Pick<Reading, 'good' | 'invalid'>> {
  const texts = [...new Set(good.flatMap(({ name, vars }) => [name ?? '', ...Object.values(vars)]))]
  const rejected = new Set<string>()
  for (let from = 0; from < texts.length; from += TEXTS_AT_A_TIME) {
    const batch = Object.fromEntries(texts.slice(from, from + TEXTS_AT_A_TIME).map((text, n) => [`/${from + n}`, text]))
    for (const { pointer } of await rejectedTexts(deps, batch)) rejected.add(texts[Number(pointer.slice(1))]!)
  }
  const isRejected = ({ name, vars }: Entry) =>
    (name !== null && rejected.has(name)) || Object.values(vars).some(text => rejected.has(text))
  const out = good.filter(isRejected).map(({ index }) => ({ index, code: 'moderation_rejected' as const }))
  return {
    good: out.length > 0 ? good.filter(entry => !isRejected(entry)) : good,
    invalid: [...invalid, ...out].sort((a, b) => a.index - b.index),
  }
}
