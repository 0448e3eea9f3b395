-- A campaign's attempt is its call. Rounds begin with a requeue; attempts are counted in each from 1.
alter table calls
  add column campaign_contact_id uuid,
  add column campaign_round int,
  add column campaign_attempt int,
  add constraint calls_campaign_attempt check (
    (campaign_contact_id is null) = (campaign_round is null) and (campaign_contact_id is null) = (campaign_attempt is null)
    and (campaign_contact_id is null or campaign_id is not null)
  );
-- Nobody is rung twice for one attempt: not at once, and not again, but where nothing ever left us.
create unique index calls_campaign_live on calls (campaign_contact_id)
  where ended_at is null and campaign_contact_id is not null;
create unique index calls_campaign_once on calls (campaign_contact_id, campaign_round, campaign_attempt)
  where campaign_contact_id is not null and (ended_reason is null or ended_reason not in ('queue_expired', 'no_capacity'));
create index calls_campaign on calls (campaign_id, created_at desc, id desc) where campaign_id is not null;
create index calls_campaign_open on calls (campaign_id) where ended_at is null and campaign_id is not null;

-- A campaign makes contacts by the dozen. Their counters were moved once for each, which took most of the time of it and
-- left as many dead versions of the same counter; now once for each statement.
create function contacts_came() returns trigger language plpgsql as $$
declare
  one record;
begin
  for one in
    select owner_id, channel, coalesce(lead_status, '') as lead, count(*)::int as contacts from came
    group by 1, 2, 3 order by 1, 2, 3
  loop
    perform count_contact(one.owner_id, '00000000-0000-0000-0000-000000000000', one.channel, one.lead, one.contacts);
  end loop;
  return null;
end $$;
drop trigger contact_counted on contacts;
create trigger contact_counted after delete on contacts for each row execute function contact_changed();
create trigger contacts_counted after insert on contacts referencing new table as came
  for each statement execute function contacts_came();

create function contact_projects_came() returns trigger language plpgsql as $$
declare
  one record;
begin
  for one in
    select contacts.owner_id, came.project_id, channel, coalesce(lead_status, '') as lead, count(*)::int as contacts
    from came join contacts on contacts.id = came.contact_id group by 1, 2, 3, 4 order by 1, 2, 3, 4
  loop
    perform count_contact(one.owner_id, one.project_id, one.channel, one.lead, one.contacts);
  end loop;
  return null;
end $$;
drop trigger contact_project_counted on contact_projects;
create trigger contact_project_counted after delete on contact_projects
  for each row execute function contact_project_changed();
create trigger contact_projects_counted after insert on contact_projects referencing new table as came
  for each statement execute function contact_projects_came();
