import { presentMoney } from '../../billing/money-schema.ts'
import type { ControlConfig } from '../../platform/deps.ts'
import { time } from '../../platform/http/shapes.ts'
import type { LeadRow } from './leads-sql.ts'
import type { JobRow } from './sql.ts'
import type { LeadSource } from './vocabulary/types.ts'

/** `price`: units per lead. */
export function presentEstimate({ currency }: ControlConfig, leads: number, price: bigint) {
  const total = presentMoney(price * BigInt(leads), currency)
  return { leads, price_per_lead: presentMoney(price, currency), total }
}

export const presentSource = ({ id, name, attribution, licence }: LeadSource) => ({ id, name, attribution, licence })

/** Cost so far, or at the end if the search ends now. */
export const costOfJob = ({ price, enriched }: Pick<JobRow, 'price' | 'enriched'>) => price * BigInt(enriched)

/** Fields that change while a search runs; the event stream sends the same. */
export function presentProgress(config: ControlConfig, row: JobRow) {
  const { status, end_reason, found, enriched, rejected, target, problems } = row
  const { error_code: code, error_message: message } = row
  return {
    status,
    end_reason,
    progress: { found, enriched, rejected, target },
    cost: presentMoney(costOfJob(row), config.currency),
    problems,
    error: code === null ? null : { code, message: message ?? '' },
  }
}

export function presentJob(config: ControlConfig, row: JobRow) {
  const { id, brief_raw, brief, target, price, sources } = row
  return {
    id,
    brief_raw,
    brief_parsed: brief,
    ...presentProgress(config, row),
    estimate: presentEstimate(config, target, price),
    sources,
    campaign_id: row.campaign_id,
    created_at: row.created_at.toISOString(),
    started_at: time(row.started_at),
    ended_at: time(row.ended_at),
  }
}

export function presentLead(row: LeadRow) {
  const { id, company, status, phones, emails, website, address, lat, lon, score, reasons, signals } = row
  const { source, attribution, licence, rejected_code: code, rejected_text: message, site_problem, contact_id } = row
  return {
    id,
    company,
    status,
    phone: phones[0] ?? null,
    phones,
    email: emails[0] ?? null,
    emails,
    website,
    address,
    geo: lat === null || lon === null ? null : { lat, lon },
    score,
    reasons,
    signals,
    source,
    attribution,
    licence,
    rejection: code === null ? null : { code, message: message ?? '' },
    site_problem,
    contact_id,
    created_at: row.created_at.toISOString(),
    enriched_at: time(row.enriched_at),
  }
}
