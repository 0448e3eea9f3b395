-- Several people use one account, each with a role. The person who signed up stays in `accounts`, with the role owner
-- and the id of the account; `members` has the others.
create table members (
  id uuid primary key,
  owner_id uuid not null references accounts,
  email text not null,
  name text not null,
  role text not null check (role in ('owner', 'admin', 'developer', 'operator', 'billing', 'read_only')),
  -- PHC string of argon2id. Null: nobody logs in by password.
  password_hash text,
  created_at timestamptz(3) not null,
  -- The person has left the account. The row stays for a year, so that the audit log can name the person.
  left_at timestamptz(3)
);
create unique index members_email on members (lower(email)) where left_at is null;
create index members_list on members (owner_id, created_at, id);

-- Each is used once, by whoever reads the mailbox.
create table invitations (
  id uuid primary key,
  owner_id uuid not null references accounts,
  email text not null,
  role text not null check (role in ('owner', 'admin', 'developer', 'operator', 'billing', 'read_only')),
  hash bytea not null unique,
  -- The person, as in `people`.
  invited_by uuid not null,
  created_at timestamptz(3) not null,
  expires_at timestamptz(3) not null
);
create unique index invitations_email on invitations (owner_id, lower(email));
create index invitations_expiry on invitations (expires_at);

-- One e-mail has one log-in, in either table. The lock makes two insertions at the same time see each other.
create function email_has_one_login() returns trigger language plpgsql as $$
begin
  if new.email is null then return new; end if;
  perform pg_advisory_xact_lock(hashtextextended('parley log-in ' || lower(new.email), 0));
  if (tg_table_name = 'accounts' and exists (select 1 from members where lower(email) = lower(new.email) and left_at is null))
    or (tg_table_name = 'members' and exists (select 1 from accounts where lower(email) = lower(new.email))) then
    raise unique_violation using constraint = tg_table_name || '_email', message = 'the e-mail has a log-in';
  end if;
  return new;
end $$;
create trigger accounts_email_once before insert or update of email on accounts
  for each row execute function email_has_one_login();
create trigger members_email_once before insert or update of email on members
  for each row execute function email_has_one_login();

create view people as
  select id, id as owner_id, name, email, 'owner' as role, password_hash, created_at, closed_at
  from accounts where deleted_at is null
  union all
  select members.id, owner_id, members.name, members.email, role, members.password_hash, members.created_at, closed_at
  from members join accounts on accounts.id = owner_id and deleted_at is null
  where left_at is null;

-- Null: the person who signed up.
alter table sessions add column person_id uuid;
alter table password_resets add column person_id uuid;
-- A key has no more rights than the person who made it.
alter table api_keys add column person_id uuid;

-- Null: a key, or the operator.
alter table audit_log add column person_id uuid;
create or replace function audit_log_is_append_only() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' and old.outcome is null and new.outcome is not null
    and (new.id, new.owner_id, new.at, new.actor, new.actor_id, new.channel, new.address, new.operation, new.request_id,
        new.person_id)
      is not distinct from
      (old.id, old.owner_id, old.at, old.actor, old.actor_id, old.channel, old.address, old.operation, old.request_id,
        old.person_id)
    and (old.resource is null or new.resource is not distinct from old.resource) then
    return new;
  end if;
  if tg_op = 'DELETE' and current_setting('parley.audit_may_go', true) = 'on' then
    return old;
  end if;
  raise exception 'the audit log is append-only';
end $$;
