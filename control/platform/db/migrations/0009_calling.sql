-- The most that a call may cost, in 1/10000; null: as much as the balance gives.
alter table calls add column max_cost bigint check (max_cost >= 0);

alter table trunks
  add column srtp text not null default 'off' check (srtp in ('off', 'optional', 'required')),
  add column max_cps int check (max_cps > 0);

-- Entries of the account `balance` are what its owner sees. They are numbered, and their balance afterwards is written
-- down, while the owner's row in `balances` is locked: numbers have no holes, and `entries` is the total of the list.
-- Every call under way has an open hold, so these are its owner's calls at once.
alter table balances
  add column entries int not null default 0 check (entries >= 0),
  add column open_holds int not null default 0 check (open_holds >= 0);
alter table ledger_entries
  add column seq int,
  add column balance_after bigint check (balance_after >= 0),
  -- What a payment was for, in the operator's words.
  add column reference text;

alter table ledger_entries disable trigger ledger_append_only;
-- Until now an entry had the time of its request: a hold may stand before the settlement whose money it took. The sum
-- up to it is then below zero, which no balance ever was.
update ledger_entries set seq = numbered.seq, balance_after = greatest(numbered.balance_after, 0)
from (
  select id, row_number() over by_time as seq, sum(amount) over by_time as balance_after
  from ledger_entries where account = 'balance'
  window by_time as (partition by owner_id order by created_at, id rows unbounded preceding)
) as numbered
where ledger_entries.id = numbered.id;
alter table ledger_entries enable trigger ledger_append_only;
update balances set
  entries = (select count(*) from ledger_entries where owner_id = balances.owner_id and account = 'balance'),
  open_holds = (select count(*) from holds where owner_id = balances.owner_id and captured is null);

alter table ledger_entries add constraint ledger_entries_numbered
  check ((account = 'balance') = (seq is not null and balance_after is not null));
create unique index ledger_entries_list on ledger_entries (owner_id, seq) where account = 'balance';
