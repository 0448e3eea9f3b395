import { z } from 'zod'
import { AnsweredBy, EndedReason, MonitorMode, ToolCall, Turn, TurnLatency } from '../../../media/contract/messages.ts'
import { Direction } from '../../../media/contract/plan.ts'
import { Money } from '../../billing/money-schema.ts'
import { CallStatus } from '../call-setup/schema.ts'

/** Additional arguments for AI clients, whose mistakes cost their owner money. */
export const CallToolExtras = z.strictObject({
  dry_run: z
    .boolean()
    .default(false)
    .describe('Only check whether the call would be placed, from which number and at what price'),
  max_cost: z
    .string()
    .regex(/^\d{1,9}(?:\.\d{1,4})?$/, 'must be a decimal with up to 4 places')
    .optional()
    .describe('Maximum cost of the call in the currency of the balance; at least the price of one minute'),
})
const call = {
  id: z.uuid(),
  project_id: z.uuid(),
  direction: Direction,
  status: CallStatus,
  from: z.string().describe("Calling number. For a web session, the contact's phone or `web`. `erased` after erasure"),
  to: z.string().describe('Called number. For a web session, `web`. `erased` after erasure'),
  contact_id: z.uuid().nullable(),
  campaign_id: z.uuid().nullable(),
  created_at: z.string(),
  answered_at: z.string().nullable(),
  ended_at: z.string().nullable(),
  duration_seconds: z.int().nullable(),
  billed_seconds: z.int().nullable(),
  cost: Money.nullable(),
  goal_reached: z.boolean().nullable(),
  ended_reason: EndedReason.nullable(),
  answered_by: AnsweredBy.nullable(),
  sip_code: z.int().nullable(),
}
export const CallView = z.object(call).meta({ id: 'Call' })

export const CallDetail = z
  .object({
    ...call,
    summary: z.string().nullable(),
    extracted: z.record(z.string(), z.unknown()).nullable(),
    extraction_problem: z.string().nullable().describe('Why the extraction failed'),
    goal_evidence: z.string().nullable().describe('Quote that shows that the goal was reached'),
    missing_vars: z.array(z.string()).describe('Names of `{{var}}` without a value, which were left empty'),
    transcript: z.array(Turn),
    tool_calls: z.array(ToolCall),
    latency: z.object({ p50_ms: z.int().nullable(), p95_ms: z.int().nullable(), turns: z.array(TurnLatency) }),
    recording_url: z.url().nullable(),
    sip_trace_url: z.url().nullable(),
  })
  .meta({ id: 'CallDetail' })

/** One server-sent event. */
export const StreamedEvent = z
  .object({
    id: z.string().optional().describe('Sequence number; the last event has none'),
    event: z.enum([
      'call.dialing',
      'call.ringing',
      'call.started',
      'turn.finished',
      'tool.started',
      'filler.spoken',
      'tool.finished',
      'barge_in',
      'provider.switched',
      'monitor.joined',
      'monitor.changed',
      'monitor.left',
      'monitor.whispered',
      'transfer.waiting',
      'transfer.settled',
      'transfer.started',
      'call.closing',
      'call.ended',
    ]),
    data: z.string().describe('JSON'),
  })
  .meta({ id: 'CallEvent' })

export const WouldPlace = z
  .object({ would_place: z.literal(true), from: z.string(), to: z.string(), minute_price: Money, balance: Money })
  .meta({ id: 'WouldPlace' })

export const MonitorInput = z.strictObject({
  mode: MonitorMode.describe(
    '`listen`: hear both sides; `whisper`: speak only to the agent; `takeover`: speak instead of the agent',
  ),
  monitor_id: z.uuid().optional().describe('Id of an operator who already monitors the call, to change the mode'),
})
export type MonitorInput = z.output<typeof MonitorInput>
export const MonitorSession = z
  .object({
    monitor_id: z.uuid(),
    mode: MonitorInput.shape.mode,
    url: z.string().describe('WebSocket URL of the LiveKit server'),
    token: z
      .string()
      .optional()
      .describe('LiveKit token for one room and one identity. A replay by Idempotency-Key does not include it'),
    expires_in: z.int().describe('Seconds until the token expires'),
  })
  .meta({ id: 'MonitorSession' })

export const CallPath = z.object({ call_id: z.uuid() })
export const MonitorPath = z.object({ ...CallPath.shape, monitor_id: z.uuid() })
