-- Further hosts, how they are, and how calls are presented to the carrier.
alter table trunks
  add column hosts jsonb not null default '[]',
  add column options_interval_seconds int check (options_interval_seconds > 0),
  add column from_user text,
  add column from_domain text,
  add column pai text not null default 'never' check (pai in ('always', 'never')),
  add column privacy text not null default 'none' check (privacy in ('none', 'id')),
  add column number_format text not null default 'plus' check (number_format in ('plus', 'national', 'digits')),
  add column region text,
  add column fallback_number text,
  -- What the engine that looks after the trunk has told of each host.
  add column host_status jsonb not null default '[]';
