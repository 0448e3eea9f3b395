/** The closed list of error codes, and the error that carries one. Clients decide by `code`; it is published. */

interface Meaning {
  status: number
  title: string
  /** For the page behind `type`. */
  help: string
}

export const problems = {
  bad_request: { status: 400, title: 'The request could not be read', help: 'The HTTP request itself is malformed.' },
  malformed_json: {
    status: 400,
    title: 'The body is not JSON',
    help: 'The body must be one JSON document in UTF-8.',
  },
  validation_failed: {
    status: 400,
    title: 'The request is not valid',
    help: 'Each entry of `errors` points to a field by JSON Pointer. Unknown fields and query parameters are errors too.',
  },
  terms_not_accepted: {
    status: 400,
    title: 'The terms of lead search were not accepted',
    help: 'Read them at /terms/lead-search and send `accept_terms: true` once; again when they change.',
  },
  unauthorized: {
    status: 401,
    title: 'The API key is missing or not valid',
    help: 'Send a live key as `X-API-Key: svc_…` or `Authorization: Bearer svc_…`.',
  },
  invalid_credentials: {
    status: 401,
    title: 'E-mail or password is wrong',
    help: 'Check both, or reset the password. It does not tell which of the two is wrong.',
  },
  subscription_inactive: {
    status: 402,
    title: 'The subscription is not active',
    help: 'Calls are made and taken, and leads are searched for, only while the subscription is active.',
  },
  insufficient_balance: {
    status: 402,
    title: 'The balance does not cover it',
    help: 'The balance must be at least the price of one minute of the call, or the estimate of the lead search.',
  },
  daily_limit_reached: {
    status: 402,
    title: 'The account has spent what a day may cost',
    help: 'Its owner has set a limit of spending a day (UTC), under Limits in the dashboard. It is raised there, or the day is waited for.',
  },
  insufficient_scope: {
    status: 403,
    title: 'The key lacks the scope this needs',
    help: 'Reading needs the scope `read`, changing and launching needs `write`.',
  },
  sign_up_closed: {
    status: 403,
    title: 'Sign-up is switched off',
    help: 'The operator of this installation makes accounts.',
  },
  cross_site: {
    status: 403,
    title: 'The request came from another site',
    help: 'A dashboard session works only on its own pages. Programs use an API key.',
  },
  not_found: {
    status: 404,
    title: 'There is no such object',
    help: 'It does not exist, was deleted, or belongs to another owner.',
  },
  no_recording: {
    status: 404,
    title: 'The call has no recording',
    help: 'It was not recorded, has not ended yet, or its recording was deleted.',
  },
  no_trace: {
    status: 404,
    title: 'The call has no SIP trace',
    help: 'It did not come over SIP, has not ended yet, or its trace was deleted.',
  },
  route_not_found: { status: 404, title: 'There is no such address', help: 'See /openapi.json for what there is.' },
  method_not_allowed: {
    status: 405,
    title: 'This address does not take this method',
    help: 'The header `Allow` names the methods that it takes.',
  },
  call_ended: { status: 409, title: 'The call has ended', help: 'Nothing can be done to a call that has ended.' },
  call_not_answered: {
    status: 409,
    title: 'Nobody has answered the call yet',
    help: 'A call can be listened to from its answer on: wait for `call.started`.',
  },
  project_not_ready: {
    status: 409,
    title: 'The project cannot hold a conversation yet',
    help: 'Its prompt is empty, or none of its models has its API key; `errors` points to the setting.',
  },
  campaign_started: {
    status: 409,
    title: 'The campaign has been started',
    help: 'Contacts are uploaded before the start. Make another campaign for more of them.',
  },
  invalid_transition: {
    status: 409,
    title: 'This status does not allow it',
    help: 'A campaign: draft → scheduled → running ⇄ paused → completed or stopped; `requeue` begins again from the last three. A lead search: queued → running → completed, failed or canceled; it can be canceled until it is over, and made a campaign of from then on.',
  },
  no_contacts: {
    status: 409,
    title: 'There is nobody to call',
    help: 'Upload contacts first. A requeue needs contacts that ended as no_answer, busy or failed.',
  },
  lead_search_active: {
    status: 409,
    title: 'Another lead search is under way',
    help: 'One at a time: wait for its end, or cancel it.',
  },
  no_lead_sources: {
    status: 409,
    title: 'There is nowhere to search',
    help: 'The operator has set up no source of leads. Upload a directory of your own.',
  },
  idempotency_in_flight: {
    status: 409,
    title: 'A request with this Idempotency-Key is under way',
    help: 'Wait for its answer, or ask again a little later with the same key.',
  },
  no_outbound_line: {
    status: 409,
    title: 'No outbound line is bound to the project',
    help: 'Bind a number with direction `out` or `both` to the project.',
  },
  number_bound: {
    status: 409,
    title: 'The number serves another project',
    help: 'A number serves one project in each direction. Unbind it there first.',
  },
  do_not_call: {
    status: 409,
    title: 'The number is on the do-not-call list',
    help: 'The subscriber asked not to be called, or you listed the number.',
  },
  destination_blocked: {
    status: 409,
    title: 'This number is not dialled from here',
    help: 'Emergency, premium-rate and satellite numbers are never dialled; `errors` says which it is.',
  },
  too_many_calls: {
    status: 409,
    title: 'As many calls as allowed are under way',
    help: 'Wait until one of them has ended, or ask the operator for more.',
  },
  limit_reached: {
    status: 409,
    title: 'There are as many of these as an account may have',
    help: 'Delete one that is not needed any more.',
  },
  email_taken: {
    status: 409,
    title: 'There is an account with this e-mail',
    help: 'Log in, or reset the password.',
  },
  payload_too_large: {
    status: 413,
    title: 'The body is too large',
    help: 'A JSON body may have up to 1 MB, an upload of contacts 8 MB.',
  },
  unsupported_media_type: {
    status: 415,
    title: 'The media type of the body is not supported',
    help: 'Send JSON with `Content-Type: application/json`, and a file as `multipart/form-data` where one is taken.',
  },
  range_not_satisfiable: {
    status: 416,
    title: 'There is no such part',
    help: 'The range begins behind the end; `Content-Range` says how long it is.',
  },
  moderation_rejected: {
    status: 422,
    title: 'The text was rejected by moderation',
    help: 'The prompt or task asks for what the service is not for. `errors` points to the text.',
  },
  idempotency_mismatch: {
    status: 422,
    title: 'This Idempotency-Key was used for another request',
    help: 'A key stands for one request with one body for 24 hours.',
  },
  rate_limited: {
    status: 429,
    title: 'Too many requests',
    help: 'Wait as many seconds as `Retry-After` says.',
  },
  lead_search_limit: {
    status: 429,
    title: 'As many lead searches as a day allows were started',
    help: 'The day is that of UTC; `Retry-After` says when the next one begins.',
  },
  internal_error: {
    status: 500,
    title: 'Something went wrong on our side',
    help: 'Quote `request_id` when you ask us.',
  },
  engine_unavailable: {
    status: 503,
    title: 'The engine of this call cannot be reached',
    help: 'Try again a little later.',
  },
  realtime_unavailable: {
    status: 503,
    title: 'There is no WebRTC server',
    help: 'The operator has not set one up, or it is away.',
  },
  no_capacity: {
    status: 503,
    title: 'No engine is free to hold a conversation',
    help: 'Try again a little later.',
  },
  service_unavailable: {
    status: 503,
    title: 'The service is briefly unavailable',
    help: 'A part that this needs cannot be reached. Try again a little later.',
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

/** An answer other than success, thrown anywhere below a route. */
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
  new Problem('limit_reached', { detail: `An account may have ${most} ${what}.` })

/** One field that is wrong, found after parsing. */
export function invalidField(pointer: string, code: string, message: string): Problem {
  return new Problem('validation_failed', { errors: [{ pointer, code, message }] })
}
