-- A page of one status or direction is read off an index too, however rare it is among a million calls.
create index calls_status on calls (owner_id, status, created_at desc, id desc);
create index calls_direction on calls (owner_id, direction, created_at desc, id desc);

-- A number is on one trunk of the whole installation: who names the number of somebody else must not get its calls. Where
-- two had it, it stays with the first.
delete from numbers using numbers as earlier
  where earlier.number = numbers.number and (earlier.created_at, earlier.id) < (numbers.created_at, numbers.id);
create unique index numbers_number on numbers (number);
alter table numbers drop constraint numbers_owner_id_number_key;
