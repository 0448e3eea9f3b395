-- The audit log names the channel of a request: rest, mcp, auth or admin.
-- safe: renaming reads no row, and 0.1 processes are stopped before 0038 already
alter table audit_log rename column door to channel;

create or replace function audit_log_is_append_only() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' and old.outcome is null and new.outcome is not null
    and (new.id, new.owner_id, new.at, new.actor, new.actor_id, new.channel, new.address, new.operation, new.request_id)
      is not distinct from
      (old.id, old.owner_id, old.at, old.actor, old.actor_id, old.channel, old.address, old.operation, old.request_id)
    and (old.resource is null or new.resource is not distinct from old.resource) then
    return new;
  end if;
  if tg_op = 'DELETE' and current_setting('parley.audit_may_go', true) = 'on' then
    return old;
  end if;
  raise exception 'the audit log is append-only';
end $$;
