create table idempotency (
  owner_id uuid not null references accounts,
  key text not null,
  fingerprint bytea not null,
  locked_at timestamptz(3) not null,
  -- Null while the first request is under way.
  status int,
  -- Text, not jsonb: a replay repeats the answer to the byte.
  body text,
  expires_at timestamptz(3) not null,
  primary key (owner_id, key)
);
create index idempotency_expiry on idempotency (expires_at);
