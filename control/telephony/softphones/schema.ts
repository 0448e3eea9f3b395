import { z } from 'zod'

const shown = {
  name: z.string().trim().min(1).max(200),
  project_id: z.uuid().describe('Project whose agent answers `agent` and short numbers such as 1'),
}

export const SoftphoneCreate = z.strictObject(shown)
export type SoftphoneCreate = z.output<typeof SoftphoneCreate>
export const SoftphonePatch = SoftphoneCreate.partial()
export type SoftphonePatch = z.output<typeof SoftphonePatch>

export const SoftphoneView = z
  .object({
    id: z.uuid(),
    ...shown,
    username: z.string().describe('SIP user name. As the `phone` of a call, it calls this softphone'),
    settings: z
      .object({
        server: z.string(),
        port: z.int(),
        transports: z.array(z.enum(['udp', 'tcp', 'tls'])),
        realm: z.string(),
        dial: z.string().describe('What to dial to reach the agent'),
      })
      .describe('Settings of the SIP phone, besides user name and password'),
    status: z.object({
      registered: z.boolean(),
      contacts: z
        .array(
          z.object({
            address: z.string().describe('`host:port` of the phone'),
            transport: z.enum(['udp', 'tcp', 'tls']),
            user_agent: z.string().nullable(),
            expires_at: z.string(),
          }),
        )
        .describe('Currently registered phones; all of them ring'),
      last_seen_at: z.string().nullable().describe('Time of the last registration'),
    }),
    created_at: z.string(),
  })
  .meta({ id: 'Softphone' })

export const SoftphoneCreated = SoftphoneView.extend({
  password: z.string().optional().describe('Shown only once: a replay by Idempotency-Key does not include it'),
}).meta({ id: 'SoftphoneCreated' })

export const SoftphonePath = z.object({ softphone_id: z.uuid() })
