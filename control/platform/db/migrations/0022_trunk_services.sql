-- Null: the records of the host say where its servers are (RFC 3263).
alter table trunks alter column port drop not null;
