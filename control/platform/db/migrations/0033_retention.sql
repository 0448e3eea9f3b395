-- How long an owner keeps what; null days: for ever. Of each kind the sweep remembers the last call that it has passed, in
-- the order of `calls_list`: nothing of what is before is looked at again.
create table retention (
  owner_id uuid not null references accounts,
  kind text not null check (kind in ('recordings', 'transcripts', 'phones')),
  days int check (days between 1 and 3650),
  passed_at timestamptz(3) not null default 'epoch',
  passed_id uuid not null default '00000000-0000-0000-0000-000000000000',
  -- When the sweep comes next.
  due_at timestamptz(3) not null,
  primary key (owner_id, kind)
);
create index retention_due on retention (due_at) where days is not null;

-- Its personal data is gone for good: what an engine still tells of it is not kept either.
alter table calls add column erased_at timestamptz(3);
