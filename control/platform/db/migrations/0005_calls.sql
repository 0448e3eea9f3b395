create table contacts (
  id uuid primary key,
  owner_id uuid not null references accounts,
  phone text not null,
  channel text not null default 'phone' check (channel in ('phone', 'web', 'lead')),
  name text,
  notes text,
  tags text[] not null default '{}',
  lead_status text check (lead_status in ('new', 'in_progress', 'hot', 'won', 'lost')),
  last_call_at timestamptz(3),
  created_at timestamptz(3) not null,
  unique (owner_id, phone)
);
create index contacts_list on contacts (owner_id, created_at desc, id desc);

create table contact_projects (
  contact_id uuid not null references contacts on delete cascade,
  project_id uuid not null references projects,
  primary key (contact_id, project_id)
);

create table do_not_call (
  owner_id uuid not null references accounts,
  phone text not null,
  source text not null,
  created_at timestamptz(3) not null,
  primary key (owner_id, phone)
);

create table calls (
  id uuid primary key,
  owner_id uuid not null references accounts,
  project_id uuid not null references projects,
  direction text not null check (direction in ('in', 'out', 'web')),
  status text not null check (status in ('queued', 'dialing', 'ringing', 'in_progress',
    'completed', 'no_answer', 'busy', 'failed', 'canceled')),
  from_phone text not null,
  to_phone text not null,
  contact_id uuid references contacts,
  campaign_id uuid,
  trunk_id uuid,
  task text,
  vars jsonb not null,
  -- Price of a minute when the call was made, in 1/10000, and the share of it that is charged, in percent.
  price bigint not null,
  factor_percent int not null,
  created_at timestamptz(3) not null,
  -- No engine takes a queued call after this, and an admitted one must have started by then.
  deadline_at timestamptz(3) not null,
  engine text,
  boot text,
  progress_ms int not null default 0,
  answered_at timestamptz(3),
  ended_at timestamptz(3),
  talked_ms int,
  billed_seconds int,
  cost bigint,
  goal_reached boolean,
  ended_reason text,
  answered_by text,
  sip_code int,
  summary text,
  extracted jsonb,
  transcript jsonb,
  tool_calls jsonb,
  latency jsonb,
  media jsonb
);
create index calls_list on calls (owner_id, created_at desc, id desc);
create index calls_project on calls (owner_id, project_id, created_at desc, id desc);
create index calls_live on calls (status, deadline_at) where ended_at is null;
create index calls_engine on calls (engine) where ended_at is null;
create index calls_trunk on calls (trunk_id) where ended_at is null;

create table call_counters (
  owner_id uuid not null,
  project_id uuid not null,
  direction text not null,
  status text not null,
  calls int not null check (calls >= 0),
  primary key (owner_id, project_id, direction, status)
);

create table call_events (
  call_id uuid not null references calls,
  seq int not null,
  type text not null,
  at timestamptz(3) not null,
  data jsonb not null,
  primary key (call_id, seq)
);
create index call_events_at on call_events (at);
