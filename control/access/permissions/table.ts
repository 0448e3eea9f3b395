/**
 * Says what each role may do: every operation of REST, of MCP and of the dashboard, by its `operationId`. A test fails when an
 * operation is missing here. At run time, a missing one is refused to everybody but owners and admins.
 */
import { type Role, roles } from '../../platform/http/caller.ts'

const OWNERS = ['owner'] as const
/** Manages people and what protects the account. */
const MANAGERS = ['owner', 'admin'] as const
/** Builds agents, lines and integrations. */
const BUILDERS = [...MANAGERS, 'developer'] as const
/** Runs calls and campaigns that others have built. */
const OPERATORS = [...BUILDERS, 'operator'] as const
/** Listens to calls, live and recorded. */
const LISTENERS = [...MANAGERS, 'operator'] as const
/** Reads settings, calls and contacts. */
const READERS = [...OPERATORS, 'read_only'] as const
/** Reads what was paid. */
const PAYERS = [...MANAGERS, 'billing', 'read_only'] as const
const EVERYBODY = roles

const groups: readonly (readonly [allowed: readonly Role[], operations: readonly string[]])[] = [
  [
    EVERYBODY,
    [
      ...['get_session', 'change_password', 'log_out', 'log_out_everywhere', 'list_sessions', 'end_session'],
      ...['get_second_factor', 'verify_second_factor', 'start_totp', 'confirm_totp', 'disable_totp'],
      ...['start_passkey', 'add_passkey', 'remove_passkey', 'renew_recovery_codes'],
      ...['get_balance', 'get_limits'],
    ],
  ],
  [OWNERS, ['delete_account']],
  [
    MANAGERS,
    [
      ...['list_members', 'update_member', 'remove_member', 'list_invitations', 'invite_member', 'revoke_invitation'],
      'update_second_factor',
      ...['update_limits', 'resume_calls', 'update_retention', 'erase_person', 'erase_call', 'get_audit'],
    ],
  ],
  [PAYERS, ['list_balance_entries', 'get_spend']],
  [LISTENERS, ['get_call_recording', 'monitor_call', 'unmonitor_call']],
  [
    BUILDERS,
    [
      ...['list_keys', 'create_key', 'revoke_key'],
      ...['create_project', 'update_project', 'delete_project', 'test_tool'],
      ...['set_secret', 'delete_secret'],
      ...['add_knowledge', 'add_knowledge_file', 'delete_knowledge'],
      ...['create_trunk', 'update_trunk', 'delete_trunk', 'check_trunk'],
      ...['create_softphone', 'update_softphone', 'delete_softphone', 'renew_softphone_password'],
      ...['bind_number', 'unbind_number', 'verify_number', 'confirm_number_verification'],
      ...['delete_contact', 'remove_do_not_call'],
      ...['create_campaign', 'update_campaign', 'delete_campaign', 'upload_campaign_contacts', 'start_campaign'],
      ...['requeue_campaign'],
      ...['parse_lead_brief', 'start_lead_search', 'cancel_lead_search', 'delete_lead_search', 'create_lead_campaign'],
      ...['add_lead_directory', 'update_lead_directory', 'delete_lead_directory'],
      ...['create_webhook', 'update_webhook', 'delete_webhook', 'rotate_webhook_secret', 'test_webhook'],
      'replay_webhook_delivery',
    ],
  ],
  [
    OPERATORS,
    [
      ...['place_call', 'hang_up_call', 'create_realtime_session', 'update_contact', 'add_do_not_call'],
      ...['pause_campaign', 'resume_campaign', 'stop_campaign'],
    ],
  ],
  [
    READERS,
    [
      ...['list_projects', 'get_project', 'list_secrets', 'list_knowledge', 'search_knowledge'],
      ...['list_trunks', 'get_trunk', 'list_softphones', 'get_softphone', 'list_numbers'],
      ...['list_calls', 'get_call', 'stream_call_events', 'get_call_trace'],
      ...['list_contacts', 'get_contact', 'list_do_not_call', 'get_retention'],
      ...['list_campaigns', 'get_campaign', 'list_campaign_contacts', 'explain_campaign_contact'],
      ...['stream_campaign_events', 'get_campaign_results'],
      ...['list_lead_searches', 'get_lead_search', 'stream_lead_search_events', 'list_leads', 'export_leads'],
      ...['list_lead_directories', 'get_lead_directory'],
      ...['list_webhooks', 'get_webhook', 'list_webhook_deliveries', 'get_webhook_delivery'],
    ],
  ],
]

/** Operations without a log-in: they let somebody in, and have no role yet. */
export const openOperations: readonly string[] = [
  ...['sign_up', 'log_in', 'request_password_reset', 'confirm_password_reset', 'accept_invitation'],
  ...['start_passkey_log_in', 'log_in_with_passkey'],
]

/** The roles that may use each operation. */
export const rolesByOperation: ReadonlyMap<string, readonly Role[]> = new Map(
  groups.flatMap(([allowed, operations]) => operations.map(id => [id, allowed] as const)),
)

/** Every id of the table, as often as it stands there. A test finds repetitions. */
export const listedOperations: readonly string[] = groups.flatMap(([, operations]) => operations)

export const rolesOf = (operation: string): readonly Role[] => rolesByOperation.get(operation) ?? MANAGERS

export const mayUse = (role: Role, operation: string): boolean => rolesOf(operation).includes(role)

/** Only an owner changes an owner, or makes one. */
export const mayGive = (giver: Role, ...given: readonly Role[]): boolean =>
  giver === 'owner' || (giver === 'admin' && !given.includes('owner'))
