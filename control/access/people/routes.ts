import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { Deps } from '../../platform/deps.ts'
import { paging } from '../../platform/http/paging.ts'
import { deletionRoute, route } from '../../platform/http/route.ts'
import {
  InvitationInput,
  InvitationList,
  InvitationPath,
  InvitationView,
  MemberList,
  MemberPatch,
  MemberPath,
  MemberView,
} from './schema.ts'
import { changeRole, invite, listInvitations, listMembers, removeMember, revokeInvitation } from './service.ts'

const tag = 'People'
const notATool = 'A key must not let people in or raise their role: the thief of a key could make himself an owner.'

export function peopleRoutes(app: FastifyInstance, deps: Deps): void {
  memberRoutes(app, deps)
  invitationRoutes(app, deps)
}

function memberRoutes(app: FastifyInstance, deps: Deps): void {
  route(app, deps, {
    id: 'list_members',
    method: 'GET',
    path: '/members',
    scope: 'session',
    tag,
    summary: 'List the people of the account with their roles',
    notATool,
    query: z.strictObject(paging),
    answer: MemberList,
    handle: ({ ownerId, query }) => listMembers(deps, ownerId, query),
  })
  route(app, deps, {
    id: 'update_member',
    method: 'PATCH',
    path: '/members/:member_id',
    scope: 'session',
    tag,
    summary: 'Change the role of a person',
    description:
      'Takes effect everywhere within 5 seconds, also for the keys that the person created. Only an owner may change an owner, or make one.',
    notATool,
    params: MemberPath,
    body: MemberPatch,
    answer: MemberView,
    errors: ['not_found', 'first_owner'],
    handle: ({ caller, params, body }) => changeRole(deps, caller, params.member_id, body.role),
  })
  deletionRoute(app, deps, {
    id: 'remove_member',
    path: '/members/:member_id',
    scope: 'session',
    tag,
    summary: 'Remove a person; ends all sessions of the person, and revokes the keys that the person created',
    notATool,
    params: MemberPath,
    errors: ['not_found', 'first_owner'],
    remove: ({ caller, params }) => removeMember(deps, caller, params.member_id),
  })
}

function invitationRoutes(app: FastifyInstance, deps: Deps): void {
  route(app, deps, {
    id: 'list_invitations',
    method: 'GET',
    path: '/invitations',
    scope: 'session',
    tag,
    summary: 'List invitations that were neither accepted nor revoked',
    notATool,
    query: z.strictObject(paging),
    answer: InvitationList,
    handle: ({ ownerId, query }) => listInvitations(deps, ownerId, query),
  })
  route(app, deps, {
    id: 'invite_member',
    method: 'POST',
    path: '/invitations',
    scope: 'session',
    tag,
    summary: 'Invite a person by e-mail',
    description:
      'The e-mail has a code that is valid for seven days and works once. Another invitation to the same e-mail replaces the first one.',
    notATool,
    body: InvitationInput,
    status: 201,
    answer: InvitationView,
    errors: ['email_taken', 'limit_reached'],
    handle: ({ caller, body }) => invite(deps, caller, body),
  })
  deletionRoute(app, deps, {
    id: 'revoke_invitation',
    path: '/invitations/:invitation_id',
    scope: 'session',
    tag,
    summary: 'Revoke an invitation; its code stops working at once',
    notATool,
    params: InvitationPath,
    remove: ({ caller, params }) => revokeInvitation(deps, caller, params.invitation_id),
  })
}
