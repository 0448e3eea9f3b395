-- The trunk that the second line of a call goes over while its caller is given to somebody: it counts in `max_calls` too.
alter table calls add column bridge_trunk_id uuid;
-- Which of the call's second lines that is of: what is said of an earlier one, late, changes nothing.
alter table calls add column bridge_attempt int not null default 0;
create index calls_bridge on calls (bridge_trunk_id) where ended_at is null and bridge_trunk_id is not null;
