import { z } from 'zod'
import { listOf } from '../../platform/http/paging.ts'

export const LoginSessionView = z
  .object({
    id: z.uuid(),
    current: z.boolean().describe('True for the session of this request'),
    device: z.string().nullable().describe('Browser and system, or the name of the program'),
    address: z.string().nullable().describe('IP address of the last use'),
    created_at: z.string(),
    last_used_at: z.string().describe('Accurate to the minute'),
    expires_at: z.string().describe('When the session expires unless it is used before then'),
  })
  .meta({ id: 'LoginSession' })
export const LoginSessionList = listOf(LoginSessionView)

export const LoginSessionPath = z.object({ session_id: z.uuid() })
