-- How a call on the trunk is given to somebody else.
alter table trunks add column transfer text not null default 'refer' check (transfer in ('refer', 'bridge'));
