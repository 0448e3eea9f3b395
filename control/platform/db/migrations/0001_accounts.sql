create table accounts (
  id uuid primary key,
  name text not null,
  email text,
  created_at timestamptz(3) not null
);
create unique index accounts_email on accounts (lower(email));

create table subscriptions (
  owner_id uuid primary key references accounts,
  status text not null check (status in ('active', 'inactive')),
  plan text not null,
  ends_at timestamptz(3)
);

create table api_keys (
  id uuid primary key,
  owner_id uuid not null references accounts,
  name text not null,
  -- SHA-256 of the whole key. The key has 256 random bits, so it needs neither salt nor a slow hash.
  hash bytea not null unique,
  scopes text[] not null check (scopes <@ array['read', 'write']),
  created_at timestamptz(3) not null,
  expires_at timestamptz(3),
  revoked_at timestamptz(3),
  last_used_at timestamptz(3)
);
create index api_keys_owner on api_keys (owner_id);

create table secrets (
  owner_id uuid not null references accounts,
  name text not null,
  sealed text not null,
  updated_at timestamptz(3) not null,
  primary key (owner_id, name)
);
