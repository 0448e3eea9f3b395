import type { FastifyInstance } from 'fastify'
import type { Deps } from '../../platform/deps.ts'
import { backgroundDone } from '../../platform/jobs/background.ts'
import {
  AccountClosed,
  ChangePassword,
  DeleteAccount,
  LogInInput,
  PasswordSet,
  ResetConfirm,
  ResetRequest,
  ResetRequested,
  SessionsEnded,
  SessionView,
  SignUpInput,
} from '../accounts/schema.ts'
import { clearSessionCookie, setSessionCookie } from '../authentication/authenticate.ts'
import { openRoute, sessionRoute } from '../authentication/open-route.ts'
import { AcceptInvitation } from '../people/schema.ts'
import type { PersonRow } from '../people/sql.ts'
import { assertionOptions } from '../second-factor/passkeys.ts'
import { PasskeyLogIn, PasskeyRequestOptions } from '../second-factor/schema.ts'
import { endSessions, type SessionRow, usedFrom } from '../sessions/sessions.ts'
import { leave } from './leave.ts'
import {
  acceptInvitation,
  changePassword,
  confirmReset,
  type LoggedIn,
  logIn,
  logInWithPasskey,
  personOf,
  requestReset,
  signUp,
} from './login.ts'

const present = (person: PersonRow, session: Pick<SessionRow, 'expires_at'>) => ({
  account_id: person.owner_id,
  person_id: person.id,
  name: person.name,
  email: person.email,
  role: person.role,
  expires_at: session.expires_at.toISOString(),
})

const entered = ({ account_id, person_id }: { account_id: string; person_id: string }) => ({
  ownerId: account_id,
  personId: person_id,
})

export function authRoutes(app: FastifyInstance, deps: Deps): void {
  app.addHook('onClose', async () => backgroundDone(deps))
  const enter = (reply: Parameters<typeof setSessionCookie>[1], { person, session, token }: LoggedIn) => {
    setSessionCookie(deps, reply, token, session)
    return present(person, session)
  }
  openRoute(app, deps, {
    id: 'sign_up',
    method: 'POST',
    path: '/sign-up',
    summary: 'Create an account with a trial balance and an example project, and log in',
    description: 'The response sets the session as a cookie. The operator can disable sign-up.',
    body: SignUpInput,
    status: 201,
    answer: SessionView,
    errors: ['sign_up_closed', 'email_taken'],
    entered,
    handle: async ({ body, request, reply }) => enter(reply, await signUp(deps, body, usedFrom(request))),
  })
  openRoute(app, deps, {
    id: 'log_in',
    method: 'POST',
    path: '/log-in',
    summary: 'Log in',
    description:
      'The response sets the session as a cookie. Attempts are limited: after five incorrect passwords in 15 minutes, wait. With a second factor, send `code` as well; without it, the response is 403 `second_factor_required`.',
    body: LogInInput,
    answer: SessionView,
    errors: ['invalid_credentials', 'second_factor_required'],
    entered,
    handle: async ({ body, request, reply }) => enter(reply, await logIn(deps, body, request.ip, usedFrom(request))),
  })
  openRoute(app, deps, {
    id: 'start_passkey_log_in',
    method: 'POST',
    path: '/passkey-options',
    summary: 'Get a challenge for a passkey: options for `navigator.credentials.get()`',
    description: 'The challenge works once, within five minutes, for `log_in_with_passkey` or `verify_second_factor`.',
    answer: PasskeyRequestOptions,
    handle: () => assertionOptions(deps),
  })
  openRoute(app, deps, {
    id: 'log_in_with_passkey',
    method: 'POST',
    path: '/log-in/passkey',
    summary: 'Log in with a passkey; no password and no code is needed',
    body: PasskeyLogIn,
    answer: SessionView,
    errors: ['invalid_credentials'],
    entered,
    handle: async ({ body, request, reply }) =>
      enter(reply, await logInWithPasskey(deps, body.response, usedFrom(request))),
  })
  openRoute(app, deps, {
    id: 'accept_invitation',
    method: 'POST',
    path: '/accept-invitation',
    summary: 'Join an account with the code of an invitation, choose a password, and log in',
    description: 'The e-mail of the invitation becomes the log-in. The response sets the session as a cookie.',
    body: AcceptInvitation,
    status: 201,
    answer: SessionView,
    errors: ['invalid_credentials', 'email_taken'],
    entered,
    handle: async ({ body, request, reply }) => enter(reply, await acceptInvitation(deps, body, usedFrom(request))),
  })
  openRoute(app, deps, {
    id: 'request_password_reset',
    method: 'POST',
    path: '/password-reset',
    summary: 'Send a password reset code by e-mail; the response does not reveal whether the account exists',
    body: ResetRequest,
    answer: ResetRequested,
    async handle({ body }) {
      requestReset(deps, body.email)
      return { sent: true as const }
    },
  })
  openRoute(app, deps, {
    id: 'confirm_password_reset',
    method: 'POST',
    path: '/password-reset/confirm',
    summary: 'Set a new password with the e-mailed code; ends all sessions',
    body: ResetConfirm,
    answer: PasswordSet,
    errors: ['invalid_credentials'],
    async handle({ body, request }) {
      await confirmReset(deps, body.token, body.password, request)
      return { password_set: true as const }
    },
  })
  loggedInRoutes(app, deps)
}

function loggedInRoutes(app: FastifyInstance, deps: Deps): void {
  sessionRoute(app, deps, {
    id: 'get_session',
    method: 'GET',
    path: '/session',
    summary: 'Retrieve the current session',
    answer: SessionView,
    handle: async ({ session }) => present(await personOf(deps, session), session),
  })
  sessionRoute(app, deps, {
    id: 'change_password',
    method: 'POST',
    path: '/password',
    summary: 'Change the password; ends the other sessions',
    body: ChangePassword,
    answer: SessionView,
    errors: ['invalid_credentials'],
    handle: async ({ session, body, request }) =>
      present(await changePassword(deps, session, body, request.ip), session),
  })
  sessionRoute(app, deps, {
    id: 'delete_account',
    method: 'POST',
    path: '/delete-account',
    summary: 'Delete the account and erase its data; for owners only',
    description:
      'Sessions and keys stop working at once, and no calls are placed or accepted. About a minute after the last call has ended, all personal data is erased: contacts, calls, recordings, settings, e-mail and name. Ledger entries stay without personal data. Only the operator can refund the remaining balance, so ask before you delete the account. This cannot be undone.',
    body: DeleteAccount,
    answer: AccountClosed,
    errors: ['invalid_credentials'],
    async handle({ session, body, request, reply }) {
      await leave(deps, session, body, request.ip)
      clearSessionCookie(deps, reply)
      return { closed: true as const }
    },
  })
  sessionRoute(app, deps, {
    id: 'log_out',
    method: 'POST',
    path: '/log-out',
    summary: 'End this session',
    answer: SessionsEnded,
    async handle({ session, reply }) {
      clearSessionCookie(deps, reply)
      return { sessions_ended: await endSessions(deps, session, { only: session.id }) }
    },
  })
  sessionRoute(app, deps, {
    id: 'log_out_everywhere',
    method: 'POST',
    path: '/log-out-everywhere',
    summary: 'End all of your sessions; API keys keep working',
    answer: SessionsEnded,
    async handle({ session, reply }) {
      clearSessionCookie(deps, reply)
      return { sessions_ended: await endSessions(deps, session) }
    },
  })
}
