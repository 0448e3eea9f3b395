-- Lead searches: a brief, what sources found for it, and what became of each company.
create table lead_jobs (
  id uuid primary key,
  owner_id uuid not null references accounts,
  status text not null check (status in ('queued', 'running', 'canceling', 'completed', 'canceled', 'failed')),
  -- Why it is over; null: it is not.
  end_reason text check (end_reason in ('target_reached', 'exhausted', 'time_limit', 'canceled', 'failed')),
  brief_raw text not null,
  brief jsonb not null,
  sources text[] not null,
  -- Of an enriched lead, in 1/10000, as it was at the start.
  price bigint not null check (price >= 0),
  target int not null check (target > 0),
  found int not null default 0,
  enriched int not null default 0 check (enriched <= target),
  rejected int not null default 0,
  -- [{source, code, message}]: sources that broke off.
  problems jsonb not null default '[]',
  error_code text,
  error_message text,
  -- Which run may write: raised by each run that begins, so that one that was taken for dead writes nothing.
  attempt int not null default 0,
  -- Runs that were killed or ended in trouble of ours: a search that kills its process is given up in the end.
  tries int not null default 0,
  campaign_id uuid references campaigns on delete set null,
  created_at timestamptz(3) not null,
  started_at timestamptz(3),
  ended_at timestamptz(3),
  check (found >= enriched + rejected),
  check ((ended_at is null) = (status in ('queued', 'running', 'canceling')))
);
create index lead_jobs_list on lead_jobs (owner_id, created_at desc, id desc);
create index lead_jobs_campaign on lead_jobs (campaign_id) where campaign_id is not null;
-- One at a time, whoever starts them.
create unique index lead_jobs_active on lead_jobs (owner_id) where ended_at is null;

create table leads (
  id uuid primary key,
  job_id uuid not null references lead_jobs,
  owner_id uuid not null references accounts,
  status text not null check (status in ('found', 'enriched', 'rejected')),
  source text not null,
  source_key text not null,
  company text not null,
  -- E.164, the best one first; none before it is enriched.
  phones text[] not null default '{}',
  emails text[] not null default '{}',
  website text,
  address text,
  lat float8,
  lon float8,
  score int check (score between 0 and 100),
  signals jsonb not null default '[]',
  reasons jsonb not null default '[]',
  rejected_code text,
  rejected_text text,
  site_problem text,
  attribution text,
  licence text,
  contact_id uuid references contacts on delete set null,
  -- Lower-case text of what `q` looks in.
  search text not null,
  created_at timestamptz(3) not null,
  enriched_at timestamptz(3),
  unique (job_id, source, source_key),
  check ((status = 'rejected') = (rejected_code is not null))
);
create index leads_list on leads (job_id, created_at desc, id desc);
create index leads_contact on leads (contact_id) where contact_id is not null;

-- What two companies of a search cannot share: phones, domains, names with addresses.
create table lead_identities (
  job_id uuid not null references lead_jobs,
  identity text not null,
  lead_id uuid not null references leads,
  primary key (job_id, identity)
);
create index lead_identities_lead on lead_identities (lead_id);

-- Who accepted which words, and when.
create table lead_terms (
  owner_id uuid not null references accounts,
  version text not null,
  accepted_at timestamptz(3) not null,
  key_id uuid,
  session_id uuid,
  primary key (owner_id, version)
);

-- The owner's own lists of companies.
create table lead_directories (
  id uuid primary key,
  owner_id uuid not null references accounts,
  name text not null,
  companies int not null,
  created_at timestamptz(3) not null
);
create index lead_directories_list on lead_directories (owner_id, created_at desc, id desc);
create table lead_directory_rows (
  directory_id uuid not null references lead_directories on delete cascade,
  owner_id uuid not null references accounts,
  seq int not null,
  -- As control/leads/sources/directory.ts reads it.
  row jsonb not null,
  primary key (directory_id, seq)
);
create index lead_directory_rows_owner on lead_directory_rows (owner_id);

-- Money is held for a call or for a lead search. `open_holds` of `balances` counts those of calls alone.
alter table holds
  drop constraint holds_pkey,
  alter column call_id drop not null,
  add column job_id uuid,
  add constraint holds_purpose check (num_nonnulls(call_id, job_id) = 1);
create unique index holds_call on holds (call_id);
create unique index holds_job on holds (job_id);
alter table ledger_entries add column job_id uuid;
