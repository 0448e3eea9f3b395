-- All entries of a ledger transaction are written by one statement, and judged when it ends. Judged row by row at commit,
-- each of the hundreds of entries of a campaign's claim was a query of its own, and needed an index of its own.
create function ledger_entries_balance() returns trigger language plpgsql as $$
begin
  if exists (select from came group by transaction_id having sum(amount) <> 0) then
    raise exception 'ledger transaction does not sum to zero';
  end if;
  return null;
end $$;
drop trigger ledger_zero_sum on ledger_entries;
create trigger ledger_zero_sum after insert on ledger_entries referencing new table as came
  for each statement execute function ledger_entries_balance();
drop function ledger_sums_to_zero();
drop index ledger_entries_transaction;
-- Who has a balance has an account, and money moves only where there is a balance: the same was looked up for each entry.
alter table ledger_entries drop constraint ledger_entries_owner_id_fkey;
alter table holds drop constraint holds_owner_id_fkey;
