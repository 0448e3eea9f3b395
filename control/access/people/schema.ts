import { z } from 'zod'
import { roles } from '../../platform/http/caller.ts'
import { listOf } from '../../platform/http/paging.ts'
import { Email, Password } from '../accounts/schema.ts'

export const RoleName = z
  .enum(roles)
  .describe(
    '`owner`: everything; `admin`: everything but owners and the deletion of the account; `developer`: agents, lines, campaigns and keys; `operator`: calls, and may listen to them; `billing`: balance and spending; `read_only`: reads and changes nothing',
  )

export const MemberView = z
  .object({
    id: z.uuid(),
    name: z.string(),
    email: z.string().nullable(),
    role: RoleName,
    first_owner: z.boolean().describe('True for the person who opened the account, who stays its owner'),
    created_at: z.string(),
  })
  .meta({ id: 'Member' })
export const MemberList = listOf(MemberView)
export const MemberPatch = z.strictObject({ role: RoleName })
export const MemberPath = z.object({ member_id: z.uuid() })

export const InvitationInput = z.strictObject({ email: Email, role: RoleName })
export const InvitationView = z
  .object({
    id: z.uuid(),
    email: z.string(),
    role: RoleName,
    invited_by: z.string().nullable().describe('E-mail of the person who sent the invitation'),
    created_at: z.string(),
    expires_at: z.string(),
  })
  .meta({ id: 'Invitation' })
export const InvitationList = listOf(InvitationView)
export const InvitationPath = z.object({ invitation_id: z.uuid() })

export const AcceptInvitation = z.strictObject({
  token: z.string().min(1).max(100).describe('The code of the e-mail'),
  password: Password,
  name: z.string().trim().min(1).max(100).optional().describe('Default: the first part of the e-mail'),
})
export type AcceptInvitation = z.output<typeof AcceptInvitation>
