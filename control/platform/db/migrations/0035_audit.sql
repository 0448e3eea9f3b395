-- Who did what, when and from where. A row is written before the work, and told once how it went; without an outcome the
-- process ended in between. Nothing else of a row changes, and only its age or its account's erasure takes it away.
create table audit_log (
  id uuid primary key,
  -- Without a reference: it would lock the account's row for every request that writes.
  owner_id uuid not null,
  at timestamptz(3) not null,
  actor text not null check (actor in ('key', 'session', 'person', 'operator')),
  -- Of the key or the session.
  actor_id uuid,
  door text not null check (door in ('rest', 'mcp', 'auth', 'admin')),
  address text,
  operation text not null,
  resource text,
  request_id text,
  outcome text check (outcome in ('done', 'replayed', 'refused', 'failed')),
  -- Of the problem document, when it was not done.
  code text
);
create index audit_log_list on audit_log (owner_id, at desc, id desc);
create index audit_log_age on audit_log (at);

create function audit_log_is_append_only() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' and old.outcome is null and new.outcome is not null
    and (new.id, new.owner_id, new.at, new.actor, new.actor_id, new.door, new.address, new.operation, new.request_id)
      is not distinct from
      (old.id, old.owner_id, old.at, old.actor, old.actor_id, old.door, old.address, old.operation, old.request_id)
    and (old.resource is null or new.resource is not distinct from old.resource) then
    return new;
  end if;
  if tg_op = 'DELETE' and current_setting('parley.audit_may_go', true) = 'on' then
    return old;
  end if;
  raise exception 'the audit log is append-only';
end $$;
create trigger audit_log_append_only before update or delete on audit_log
  for each row execute function audit_log_is_append_only();
create function audit_log_is_never_emptied() returns trigger language plpgsql as $$
begin
  raise exception 'the audit log is append-only';
end $$;
create trigger audit_log_not_truncated before truncate on audit_log execute function audit_log_is_never_emptied();
