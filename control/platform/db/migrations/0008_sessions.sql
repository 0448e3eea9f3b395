alter table accounts
  -- PHC string of argon2id. Null: nobody logs in by password.
  add column password_hash text,
  -- What a minute costs this account, in 1/10000; null: what the installation charges.
  add column minute_price bigint check (minute_price >= 0),
  -- Its data was erased; the row stays because the ledger points to it.
  add column deleted_at timestamptz(3);

-- The beginning of the key, to recognise it. Of keys made before only the hash is known.
alter table api_keys add column prefix text not null default 'svc_';
alter table api_keys alter column prefix drop default;

create table sessions (
  id uuid primary key,
  owner_id uuid not null references accounts,
  -- SHA-256 of 32 random bytes.
  hash bytea not null unique,
  created_at timestamptz(3) not null,
  last_used_at timestamptz(3) not null,
  expires_at timestamptz(3) not null
);
create index sessions_owner on sessions (owner_id);
create index sessions_expiry on sessions (expires_at);

-- Each is used once. Those of the last hour are counted, so that nobody's mailbox is flooded.
create table password_resets (
  hash bytea primary key,
  owner_id uuid not null references accounts,
  created_at timestamptz(3) not null,
  expires_at timestamptz(3) not null
);
create index password_resets_owner on password_resets (owner_id, created_at);
