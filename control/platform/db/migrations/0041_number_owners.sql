-- A number may stand in several accounts. A verification call proves whose it is.
alter table numbers add column verified_at timestamptz(3);

-- Addresses of the registrar that accepted the trunk's account, and the account that they accepted.
alter table trunks add column registrars text[] not null default '{}', add column registered_account text;

-- Sources that calls to a number came from, and since when: a later owner of the number there does not take them.
create table number_calls (
  number_id uuid not null references numbers on delete cascade,
  owner_id uuid not null references accounts,
  source text not null,
  first_at timestamptz(3) not null,
  primary key (number_id, source)
);
create index number_calls_owner on number_calls (owner_id);
