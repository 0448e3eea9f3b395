-- An invitation to a dialogue. It is a call only from the moment that its caller joins the room, and again each time.
create table realtime_sessions (
  id uuid primary key,
  owner_id uuid not null references accounts,
  project_id uuid not null references projects,
  room text not null unique,
  -- Of the caller, in that room.
  identity text not null,
  task text,
  vars jsonb not null,
  contact_name text,
  contact_phone text,
  created_at timestamptz(3) not null,
  -- Who joins after this begins no dialogue.
  expires_at timestamptz(3) not null,
  -- The latest dialogue, and since when nobody talks in it any more.
  call_id uuid references calls,
  closed_at timestamptz(3),
  closed_reason text
);
create index realtime_sessions_owner on realtime_sessions (owner_id);
create index realtime_sessions_expiry on realtime_sessions (expires_at);
create index realtime_sessions_call on realtime_sessions (call_id) where call_id is not null;
