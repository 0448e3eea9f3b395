-- Lower-case text of what `q` looks in, written by the application: lower() of a database in the C locale knows only ASCII.
alter table contacts add column search text not null default '';
update contacts set search = lower(concat_ws(' ', name, phone, notes, array_to_string(tags, ' ')));
alter table contacts add column consent jsonb;
create index contacts_lead on contacts (owner_id, lead_status, created_at desc, id desc) where lead_status is not null;
create index contact_projects_project on contact_projects (project_id, contact_id);

-- Without the extension (a server that forbids it) searching is slower and finds the same.
do $$
declare
  place text;
begin
  create extension if not exists pg_trgm with schema public;
  select nspname into place from pg_extension join pg_namespace on pg_namespace.oid = extnamespace
    where extname = 'pg_trgm';
  execute format('create index contacts_search on contacts using gin (search %I.gin_trgm_ops)', place);
exception
  when insufficient_privilege or undefined_file or feature_not_supported then
    raise notice 'pg_trgm is not available';
end $$;

-- Totals of the contact list. The row of the zero project counts all contacts of the owner; '' is no lead status.
create table contact_counters (
  owner_id uuid not null references accounts,
  project_id uuid not null,
  channel text not null,
  lead_status text not null,
  contacts int not null check (contacts >= 0),
  primary key (owner_id, project_id, channel, lead_status)
);

create function count_contact(owner uuid, project uuid, ch text, lead text, change int) returns void
language sql as $$
  insert into contact_counters as c (owner_id, project_id, channel, lead_status, contacts)
  values (owner, project, ch, lead, greatest(change, 0))
  on conflict (owner_id, project_id, channel, lead_status) do update set contacts = c.contacts + change
$$;

create function contact_changed() returns trigger language plpgsql as $$
declare
  zero constant uuid := '00000000-0000-0000-0000-000000000000';
  project uuid;
begin
  if tg_op = 'INSERT' then
    perform count_contact(new.owner_id, zero, new.channel, coalesce(new.lead_status, ''), 1);
  elsif tg_op = 'DELETE' then
    perform count_contact(old.owner_id, zero, old.channel, coalesce(old.lead_status, ''), -1);
  else
    for project in
      select zero union all
      (select project_id from contact_projects where contact_id = new.id order by project_id)
    loop
      -- Rows are locked in one order whichever way a contact moves, so that two moves can't wait for each other.
      if (old.channel, coalesce(old.lead_status, '')) < (new.channel, coalesce(new.lead_status, '')) then
        perform count_contact(old.owner_id, project, old.channel, coalesce(old.lead_status, ''), -1);
        perform count_contact(new.owner_id, project, new.channel, coalesce(new.lead_status, ''), 1);
      else
        perform count_contact(new.owner_id, project, new.channel, coalesce(new.lead_status, ''), 1);
        perform count_contact(old.owner_id, project, old.channel, coalesce(old.lead_status, ''), -1);
      end if;
    end loop;
  end if;
  return null;
end $$;
create trigger contact_counted after insert or delete on contacts for each row execute function contact_changed();
create trigger contact_moved after update on contacts for each row
  when (old.channel is distinct from new.channel or old.lead_status is distinct from new.lead_status)
  execute function contact_changed();

create function contact_project_changed() returns trigger language plpgsql as $$
declare
  contact contacts;
begin
  select * into contact from contacts where id = coalesce(new.contact_id, old.contact_id);
  if found then
    perform count_contact(contact.owner_id, coalesce(new.project_id, old.project_id), contact.channel,
      coalesce(contact.lead_status, ''), case tg_op when 'INSERT' then 1 else -1 end);
  end if;
  return null;
end $$;
create trigger contact_project_counted after insert or delete on contact_projects
  for each row execute function contact_project_changed();

-- Before the contact goes: afterwards nobody could tell which counts its projects had it in.
create function contact_leaves_projects() returns trigger language plpgsql as $$
begin
  delete from contact_projects where contact_id = old.id;
  return old;
end $$;
create trigger contact_left before delete on contacts for each row execute function contact_leaves_projects();

insert into contact_counters (owner_id, project_id, channel, lead_status, contacts)
select owner_id, '00000000-0000-0000-0000-000000000000'::uuid, channel, coalesce(lead_status, ''), count(*)
from contacts group by 1, 2, 3, 4
union all
select owner_id, project_id, channel, coalesce(lead_status, ''), count(*)
from contacts join contact_projects on contact_id = id group by 1, 2, 3, 4;

alter table do_not_call add column note text;
create index do_not_call_list on do_not_call (owner_id, created_at desc, phone desc);
create table do_not_call_counters (owner_id uuid primary key references accounts, entries int not null check (entries >= 0));
create function do_not_call_changed() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into do_not_call_counters as c values (new.owner_id, 1)
    on conflict (owner_id) do update set entries = c.entries + 1;
  else
    update do_not_call_counters set entries = entries - 1 where owner_id = old.owner_id;
  end if;
  return null;
end $$;
create trigger do_not_call_counted after insert or delete on do_not_call
  for each row execute function do_not_call_changed();
insert into do_not_call_counters select owner_id, count(*) from do_not_call group by 1;

-- The beginning of what a receiver answered.
alter table webhook_attempts add column response text;
create index webhook_deliveries_status on webhook_deliveries (webhook_id, status, created_at desc, id desc);
create index webhook_deliveries_age on webhook_deliveries (created_at);
