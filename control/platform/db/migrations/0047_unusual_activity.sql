-- An account that suddenly calls new countries, or spends many times its usual hour, is stopped until a person resumes it.
alter table accounts
  add column stop_unusual_activity boolean not null default true,
  -- Null: not stopped.
  add column stopped_at timestamptz(3),
  add column stop_reason text check (stop_reason in ('new_countries', 'spending')),
  -- What was seen: countries, or amounts.
  add column stop_detail jsonb,
  -- What was seen before is no reason to stop again.
  add column resumed_at timestamptz(3),
  -- From here on, `called_countries` is complete; before, the calls themselves tell.
  add column watched_since timestamptz(3) not null default now();

create table called_countries (
  owner_id uuid not null references accounts,
  -- ISO 3166, or the first digits of a number without a country.
  country text not null,
  first_at timestamptz(3) not null,
  primary key (owner_id, country)
);
