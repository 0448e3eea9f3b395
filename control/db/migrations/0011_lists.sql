-- A page of one status or direction is read off an index too, however rare it is among a million calls.
create index calls_status on calls (owner_id, status, created_at desc, id desc);
create index calls_direction on calls (owner_id, direction, created_at desc, id desc);
