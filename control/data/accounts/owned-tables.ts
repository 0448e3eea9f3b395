/**
 * Lists every table with data of an owner, for the export and the deletion of an account. A test compares the list with
 * the schema: add each new table here.
 */
export interface OwnedTable {
  name: string
  /** The referenced row identifies the owner of rows that have no `owner_id`. */
  through?: { column: string; table: string }
  /**
   * False for internal bookkeeping that tells its owner nothing new. `without`: columns that never leave the database.
   */
  exported: false | { without: string[]; order: string[] }
  /** False for money: the ledger is append-only, and it refers to an account without personal data. */
  erased: boolean
}

const all = (...order: string[]) => ({ without: [], order })
const without = (columns: string[], ...order: string[]) => ({ without: columns, order })

/** In the order of deletion: a row is deleted before the row that it refers to. */
export const ownedTables: readonly OwnedTable[] = [
  {
    name: 'call_events',
    through: { column: 'call_id', table: 'calls' },
    exported: all('call_id', 'seq'),
    erased: true,
  },
  { name: 'call_traces', exported: all('created_at', 'call_id'), erased: true },
  { name: 'realtime_sessions', exported: all('created_at', 'id'), erased: true },
  { name: 'calls', exported: without(['engine', 'boot', 'media'], 'created_at', 'id'), erased: true },
  { name: 'call_counters', exported: false, erased: true },
  { name: 'campaign_contacts', exported: all('campaign_id', 'seq'), erased: true },
  { name: 'campaign_counters', exported: false, erased: true },
  { name: 'campaigns', exported: all('created_at', 'id'), erased: true },
  {
    name: 'lead_identities',
    through: { column: 'job_id', table: 'lead_jobs' },
    exported: false,
    erased: true,
  },
  { name: 'leads', exported: without(['search'], 'created_at', 'id'), erased: true },
  { name: 'lead_jobs', exported: without(['attempt', 'tries'], 'created_at', 'id'), erased: true },
  { name: 'lead_directory_rows', exported: all('directory_id', 'seq'), erased: true },
  { name: 'lead_directories', exported: all('created_at', 'id'), erased: true },
  { name: 'lead_terms', exported: all('accepted_at', 'version'), erased: true },
  {
    name: 'contact_projects',
    through: { column: 'contact_id', table: 'contacts' },
    exported: all('contact_id', 'project_id'),
    erased: true,
  },
  { name: 'contacts', exported: without(['search'], 'created_at', 'id'), erased: true },
  { name: 'contact_counters', exported: false, erased: true },
  { name: 'do_not_call', exported: all('created_at', 'phone'), erased: true },
  { name: 'do_not_call_counters', exported: false, erased: true },
  {
    name: 'webhook_attempts',
    through: { column: 'delivery_id', table: 'webhook_deliveries' },
    exported: all('delivery_id', 'attempt'),
    erased: true,
  },
  { name: 'webhook_deliveries', exported: all('created_at', 'id'), erased: true },
  { name: 'webhooks', exported: without(['secret_sealed', 'old_secret_sealed'], 'created_at', 'id'), erased: true },
  { name: 'number_bindings', exported: all('number_id', 'direction'), erased: true },
  { name: 'number_calls', exported: false, erased: true },
  { name: 'numbers', exported: all('created_at', 'id'), erased: true },
  {
    name: 'trunks',
    exported: without(['password_sealed', 'registrars', 'registered_account'], 'created_at', 'id'),
    erased: true,
  },
  { name: 'softphones', exported: without(['credentials_sealed'], 'created_at', 'id'), erased: true },
  { name: 'audit_log', exported: all('at', 'id'), erased: true },
  { name: 'retention', exported: without(['passed_at', 'passed_id', 'due_at'], 'kind'), erased: true },
  { name: 'secrets', exported: without(['sealed'], 'name'), erased: true },
  ...['knowledge_vectors', 'knowledge_lexemes', 'knowledge_terms'].map(name => ({
    name,
    through: { column: 'source_id', table: 'knowledge_sources' },
    exported: false as const,
    erased: true,
  })),
  { name: 'knowledge_versions', exported: false, erased: true },
  { name: 'knowledge_chunks', exported: without(['project_id'], 'source_id', 'ordinal'), erased: true },
  { name: 'knowledge_indexes', exported: false, erased: true },
  {
    name: 'knowledge_sources',
    exported: without(['content_hash', 'attempt', 'tries'], 'created_at', 'id'),
    erased: true,
  },
  { name: 'projects', exported: all('created_at', 'id'), erased: true },
  { name: 'idempotency', exported: false, erased: true },
  { name: 'api_keys', exported: without(['hash'], 'created_at', 'id'), erased: true },
  { name: 'sessions', exported: without(['hash'], 'created_at', 'id'), erased: true },
  { name: 'password_resets', exported: false, erased: true },
  { name: 'called_countries', exported: all('first_at', 'country'), erased: true },
  { name: 'second_factors', exported: without(['totp_sealed', 'totp_step'], 'person_id'), erased: true },
  { name: 'recovery_codes', exported: false, erased: true },
  { name: 'passkeys', exported: without(['public_key', 'counter'], 'created_at', 'id'), erased: true },
  { name: 'invitations', exported: without(['hash'], 'created_at', 'id'), erased: true },
  { name: 'members', exported: without(['password_hash'], 'created_at', 'id'), erased: true },
  { name: 'subscriptions', exported: all('owner_id'), erased: true },
  { name: 'balances', exported: all('owner_id'), erased: false },
  { name: 'holds', exported: all('call_id', 'job_id'), erased: false },
  { name: 'ledger_entries', exported: all('created_at', 'id'), erased: false },
]
