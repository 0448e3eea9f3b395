/** The closed list of published error codes, and the error that carries one. Clients branch on `code`. */

interface Meaning {
  status: number
  title: string
  /** Text of the page that `type` links to. */
  help: string
}

export const problems = {
  bad_request: {
    status: 400,
    title: 'Malformed HTTP request',
    help: 'The server could not parse the HTTP request itself.',
  },
  malformed_json: {
    status: 400,
    title: 'The body is not valid JSON',
    help: 'Send one JSON document, encoded in UTF-8.',
  },
  validation_failed: {
    status: 400,
    title: 'The request is invalid',
    help: 'Each entry of `errors` names a field by JSON Pointer. Unknown fields and query parameters are errors too.',
  },
  terms_not_accepted: {
    status: 400,
    title: 'The terms of lead search are not accepted',
    help: 'Read the terms at /terms/lead-search, then send `accept_terms: true` once. Send it again when the terms change.',
  },
  unauthorized: {
    status: 401,
    title: 'The API key is missing or invalid',
    help: 'Send an active key as `X-API-Key: svc_…` or `Authorization: Bearer svc_…`.',
  },
  invalid_credentials: {
    status: 401,
    title: 'Incorrect e-mail or password',
    help: 'Check both, or reset the password. For security, the error does not say which of the two is incorrect.',
  },
  second_factor_required: {
    status: 403,
    title: 'A second factor is required',
    help: 'At a log-in, send a code of your app or a recovery code as `code`, or use a passkey. Later, prove it again with `POST /v1/public/second-factor/verify`. An account may require a second factor of everybody.',
  },
  subscription_inactive: {
    status: 402,
    title: 'The subscription is not active',
    help: 'Calls and lead searches require an active subscription. Renew it, then try again.',
  },
  insufficient_balance: {
    status: 402,
    title: 'Insufficient balance',
    help: 'The balance must cover at least one minute of the call, or the estimate of the lead search. Top it up, then try again.',
  },
  daily_limit_reached: {
    status: 402,
    title: 'Daily spending limit reached',
    help: 'The account has a limit on spending per day (UTC). Raise it under Limits in the dashboard, or wait until the next day.',
  },
  insufficient_scope: {
    status: 403,
    title: 'The key lacks the required scope',
    help: 'Operations that read need the scope `read`; operations that change, launch or cost anything need `write`.',
  },
  calls_stopped: {
    status: 403,
    title: 'Outgoing calls of the account are stopped',
    help: 'The account suddenly called new countries, or spent many times its usual hour. A person with the role owner or admin resumes calls under Account in the dashboard, or switches the stop off.',
  },
  address_not_allowed: {
    status: 403,
    title: 'The key may not be used from this address',
    help: 'The key is limited to addresses. Send the request from one of them, or create another key.',
  },
  insufficient_role: {
    status: 403,
    title: 'Your role does not allow this',
    help: 'Each person of an account has a role, and a key has the role of the person who created it. Ask an owner or an admin of the account. docs/security.md lists what each role may do.',
  },
  sign_up_closed: {
    status: 403,
    title: 'Sign-up is disabled',
    help: 'Ask the operator of this installation for an account.',
  },
  cross_site: {
    status: 403,
    title: 'The request came from another site',
    help: 'A dashboard session works only on the pages of the dashboard. Use an API key in programs.',
  },
  not_found: {
    status: 404,
    title: 'Object not found',
    help: 'The object does not exist, was deleted, or belongs to another account.',
  },
  no_recording: {
    status: 404,
    title: 'The call has no recording',
    help: 'The call was not recorded, has not ended yet, or its recording was deleted.',
  },
  no_trace: {
    status: 404,
    title: 'The call has no SIP trace',
    help: 'The call did not use SIP, has not ended yet, or its trace was deleted.',
  },
  route_not_found: { status: 404, title: 'Unknown path', help: '/openapi.json lists all paths.' },
  method_not_allowed: {
    status: 405,
    title: 'Method not allowed',
    help: 'The `Allow` header lists the methods that this path accepts.',
  },
  call_ended: { status: 409, title: 'The call has ended', help: 'This operation needs a call that is in progress.' },
  call_not_answered: {
    status: 409,
    title: 'The call has not been answered yet',
    help: 'You can monitor a call after it is answered. Wait for `call.started`.',
  },
  project_not_ready: {
    status: 409,
    title: 'The project is not ready for conversations',
    help: 'The prompt is empty, or none of the models has its API key. `errors` names the setting.',
  },
  campaign_started: {
    status: 409,
    title: 'The campaign has already started',
    help: 'Contacts can be uploaded only before a campaign starts. Create another campaign for more contacts.',
  },
  invalid_transition: {
    status: 409,
    title: 'The current status does not allow this operation',
    help: 'Campaigns go draft → scheduled → running ⇄ paused → completed or stopped; `requeue` restarts from paused, completed or stopped. Lead searches go queued → running → completed, failed or canceled. A lead search can be canceled until it ends; a campaign can be created from it after that.',
  },
  no_contacts: {
    status: 409,
    title: 'No contacts to call',
    help: 'Upload contacts first. A requeue needs contacts that ended with no_answer, busy or failed.',
  },
  lead_search_active: {
    status: 409,
    title: 'Another lead search is in progress',
    help: 'An account runs one lead search at a time. Wait until it ends, or cancel it.',
  },
  no_lead_sources: {
    status: 409,
    title: 'No lead sources are configured',
    help: 'The operator has not configured any source of leads. Upload a directory of your own.',
  },
  idempotency_in_flight: {
    status: 409,
    title: 'A request with this Idempotency-Key is in progress',
    help: 'Wait for its response, or retry later with the same key.',
  },
  no_outbound_line: {
    status: 409,
    title: 'No outbound line is bound to the project',
    help: 'Bind a number with direction `out` or `both` to the project.',
  },
  number_bound: {
    status: 409,
    title: 'The number is bound to another project',
    help: 'A number can be bound to one project in each direction. Unbind it from the other project first.',
  },
  verification_unavailable: {
    status: 409,
    title: 'Numbers cannot be verified by a call here',
    help: 'The operator has not configured a line for verification calls, or it cannot call this number. Calls to your numbers are routed by trunk without it.',
  },
  do_not_call: {
    status: 409,
    title: 'The number is on the do-not-call list',
    help: 'The subscriber asked not to be called, or you added the number to the list.',
  },
  destination_blocked: {
    status: 409,
    title: 'Calls to this destination are blocked',
    help: 'Emergency, premium-rate and satellite numbers are always blocked. `errors` says which of these the number is.',
  },
  too_many_calls: {
    status: 409,
    title: 'Concurrent call limit reached',
    help: 'Wait until a call ends, or ask the operator to raise the limit.',
  },
  limit_reached: {
    status: 409,
    title: 'Account limit reached',
    help: 'Delete one that you no longer need.',
  },
  email_taken: {
    status: 409,
    title: 'An account with this e-mail already exists',
    help: 'Log in, or reset the password.',
  },
  second_factor_exists: {
    status: 409,
    title: 'Codes of an app are already set up',
    help: 'Turn them off first, to set up another app.',
  },
  first_owner: {
    status: 409,
    title: 'The person who opened the account stays its owner',
    help: 'The role of this person cannot be changed, and the person cannot be removed. Delete the account instead.',
  },
  payload_too_large: {
    status: 413,
    title: 'The body is too large',
    help: 'The limit is 1 MB for a JSON body and 8 MB for an upload of contacts.',
  },
  unsupported_media_type: {
    status: 415,
    title: 'Unsupported media type',
    help: 'Send JSON with `Content-Type: application/json`. Operations that accept a file take `multipart/form-data`.',
  },
  range_not_satisfiable: {
    status: 416,
    title: 'The requested range is not satisfiable',
    help: 'The range starts after the end of the recording. `Content-Range` gives its length in bytes.',
  },
  moderation_rejected: {
    status: 422,
    title: 'Moderation rejected the text',
    help: 'The prompt or task violates the rules of use. `errors` names the text.',
  },
  idempotency_mismatch: {
    status: 422,
    title: 'This Idempotency-Key was used for another request',
    help: 'For 24 hours, a key is valid only for one request with one body. Use a new key.',
  },
  rate_limited: {
    status: 429,
    title: 'Too many requests',
    help: 'Wait for the number of seconds in `Retry-After`, then try again.',
  },
  lead_search_limit: {
    status: 429,
    title: 'Daily limit of lead searches reached',
    help: 'The limit resets at midnight UTC. `Retry-After` gives the seconds until then.',
  },
  internal_error: {
    status: 500,
    title: 'Internal error',
    help: 'Quote `request_id` when you contact the operator.',
  },
  engine_unavailable: {
    status: 503,
    title: 'The engine that runs this call is unreachable',
    help: 'Try again in a few seconds.',
  },
  realtime_unavailable: {
    status: 503,
    title: 'The WebRTC server is unavailable',
    help: 'The operator has not configured a WebRTC server, or it is unreachable.',
  },
  no_capacity: {
    status: 503,
    title: 'No engine has free capacity',
    help: 'Try again in a few seconds.',
  },
  service_unavailable: {
    status: 503,
    title: 'The service is temporarily unavailable',
    help: 'A component that this operation needs is unreachable. Try again in a few seconds.',
  },
} as const satisfies Record<string, Meaning>

export type ProblemCode = keyof typeof problems
export const problemCodes = Object.keys(problems) as [ProblemCode, ...ProblemCode[]]

export interface FieldError {
  pointer: string
  code: string
  message: string
}

export interface ProblemDocument {
  type: string
  title: string
  status: number
  detail: string
  code: ProblemCode
  request_id: string
  errors?: FieldError[]
}

/** An error response. Any code below a route may throw it. */
export class Problem extends Error {
  readonly code: ProblemCode
  readonly status: number
  readonly errors: FieldError[]
  readonly retryAfterSeconds: number | null

  constructor(
    code: ProblemCode,
    options: { detail?: string; errors?: FieldError[]; retryAfterSeconds?: number; cause?: unknown } = {},
  ) {
    super(options.detail ?? problems[code].title, { cause: options.cause })
    this.name = 'Problem'
    this.code = code
    this.status = problems[code].status
    this.errors = options.errors ?? []
    this.retryAfterSeconds = options.retryAfterSeconds ?? null
  }

  toDocument(baseUrl: string, requestId: string): ProblemDocument {
    return {
      type: `${baseUrl}/errors/${this.code}`,
      title: problems[this.code].title,
      status: this.status,
      detail: this.message,
      code: this.code,
      request_id: requestId,
      ...(this.errors.length > 0 ? { errors: this.errors } : {}),
    }
  }
}

export const notFound = () => new Problem('not_found')

export const limitReached = (most: number, what: string) =>
  new Problem('limit_reached', { detail: `An account may have at most ${most} ${what}.` })

/** Reports one field that fails a check made after parsing. */
export function invalidField(pointer: string, code: string, message: string): Problem {
  return new Problem('validation_failed', { errors: [{ pointer, code, message }] })
}
