create table campaigns (
  id uuid primary key,
  owner_id uuid not null references accounts,
  project_id uuid not null references projects,
  name text not null,
  task text,
  status text not null check (status in ('draft', 'scheduled', 'running', 'paused', 'completed', 'stopped')),
  pause_reason text check ((pause_reason is null) = (status <> 'paused')),
  timezone text not null,
  window_start text not null check (window_start ~ '^([01]\d|2[0-3]):[0-5]\d$'),
  window_end text not null check (window_end ~ '^([01]\d|2[0-3]):[0-5]\d$'),
  -- ISO weekdays; null: every day.
  days smallint[] check (days <@ array[1, 2, 3, 4, 5, 6, 7]::smallint[] and cardinality(days) > 0),
  concurrency int not null check (concurrency between 1 and 100),
  retries int not null check (retries between 0 and 5),
  retry_interval_min int not null check (retry_interval_min between 1 and 1440),
  quiet_start text check ((quiet_start is null) = (quiet_end is null)),
  quiet_end text,
  scheduled_start_at timestamptz(3),
  max_spend bigint check (max_spend > 0),
  resume_on_top_up boolean not null,
  -- Who confirmed the subscribers' consent, when, and in which words: no campaign dials without.
  consent jsonb check (consent is not null or status = 'draft'),
  spend bigint not null default 0 check (spend >= 0),
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  started_at timestamptz(3),
  completed_at timestamptz(3)
);
create index campaigns_owner on campaigns (owner_id, created_at desc, id desc);
create index campaigns_project on campaigns (owner_id, project_id, created_at desc, id desc);
create index campaigns_live on campaigns (status, id) where status in ('scheduled', 'running', 'paused');

-- Contacts of each status, in a row of its own: it changes with every attempt, the campaign hardly ever. It is kept by
-- the statement that changes the contacts.
create table campaign_counters (
  campaign_id uuid primary key references campaigns,
  owner_id uuid not null,
  total int not null default 0,
  pending int not null default 0 check (pending >= 0),
  dialing int not null default 0 check (dialing >= 0),
  in_progress int not null default 0 check (in_progress >= 0),
  completed int not null default 0 check (completed >= 0),
  no_answer int not null default 0 check (no_answer >= 0),
  busy int not null default 0 check (busy >= 0),
  failed int not null default 0 check (failed >= 0),
  skipped int not null default 0 check (skipped >= 0),
  canceled int not null default 0 check (canceled >= 0),
  goal_reached int not null default 0 check (goal_reached between 0 and completed),
  check (total = pending + dialing + in_progress + completed + no_answer + busy + failed + skipped + canceled)
);

create table campaign_contacts (
  id uuid primary key,
  campaign_id uuid not null references campaigns,
  owner_id uuid not null,
  -- Order of upload, without holes: a page at any offset is a range of it.
  seq int not null,
  phone text not null,
  name text,
  vars jsonb not null default '{}',
  contact_id uuid,
  status text not null default 'pending' check (status in
    ('pending', 'dialing', 'in_progress', 'completed', 'no_answer', 'busy', 'failed', 'skipped', 'canceled')),
  attempts int not null default 0,
  round int not null default 1,
  next_attempt_at timestamptz(3) not null,
  last_call_id uuid,
  skip_reason text check ((skip_reason is null) = (status <> 'skipped')),
  goal_reached boolean check ((goal_reached is null) = (status <> 'completed')),
  created_at timestamptz(3) not null,
  unique (campaign_id, phone),
  unique (campaign_id, seq)
);
create index campaign_contacts_status on campaign_contacts (campaign_id, status, seq);
create index campaign_contacts_goal on campaign_contacts (campaign_id, goal_reached, seq) where goal_reached is not null;
-- What the dialer asks for: who is due, those that were due first before the others.
create index campaign_contacts_due on campaign_contacts (campaign_id, next_attempt_at, seq) where status = 'pending';
-- For an account's erasure and its export.
create index campaign_contacts_owner on campaign_contacts (owner_id);
