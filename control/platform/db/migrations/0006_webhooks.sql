create table webhooks (
  id uuid primary key,
  owner_id uuid not null references accounts,
  url text not null,
  events text[] not null,
  enabled boolean not null,
  disabled_reason text,
  secret_sealed text not null,
  -- The secret before the last rotation, valid until then.
  old_secret_sealed text,
  old_secret_until timestamptz(3),
  created_at timestamptz(3) not null
);
create index webhooks_owner on webhooks (owner_id, created_at desc, id desc);

create table webhook_deliveries (
  id uuid primary key,
  owner_id uuid not null references accounts,
  webhook_id uuid not null references webhooks on delete cascade,
  event text not null,
  -- What is sent, to the byte: the signature covers it.
  body text not null,
  status text not null check (status in ('pending', 'delivered', 'failed', 'canceled')),
  attempts int not null default 0,
  next_attempt_at timestamptz(3),
  created_at timestamptz(3) not null
);
create index webhook_deliveries_list on webhook_deliveries (webhook_id, created_at desc, id desc);

create table webhook_attempts (
  delivery_id uuid not null references webhook_deliveries on delete cascade,
  attempt int not null,
  at timestamptz(3) not null,
  http_status int,
  error text,
  ms int not null,
  primary key (delivery_id, attempt)
);
