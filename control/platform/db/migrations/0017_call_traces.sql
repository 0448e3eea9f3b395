-- What was spoken over SIP in a call, secrets masked, and what it shows.
create table call_traces (
  owner_id uuid not null references accounts,
  call_id uuid primary key references calls on delete cascade,
  created_at timestamptz(3) not null,
  -- Of {at, sent, source, target, transport, made_up, text}.
  messages jsonb not null,
  left_out int not null,
  -- {code, words, advice, evidence}
  diagnosis jsonb
);
create index call_traces_owner on call_traces (owner_id);
create index call_traces_age on call_traces (created_at);
