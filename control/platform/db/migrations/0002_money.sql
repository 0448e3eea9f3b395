-- Money is whole 1/10000 of the currency unit everywhere below the API.
create table balances (
  owner_id uuid primary key references accounts,
  available bigint not null check (available >= 0),
  held bigint not null check (held >= 0)
);

create table ledger_entries (
  id uuid primary key,
  transaction_id uuid not null,
  owner_id uuid not null references accounts,
  account text not null check (account in ('balance', 'held', 'revenue', 'funding')),
  kind text not null check (kind in ('fund', 'hold', 'extend', 'settle')),
  amount bigint not null check (amount <> 0),
  call_id uuid,
  created_at timestamptz(3) not null
);
create index ledger_entries_owner on ledger_entries (owner_id, created_at desc, id desc);
create index ledger_entries_transaction on ledger_entries (transaction_id);

create table holds (
  call_id uuid primary key,
  owner_id uuid not null references accounts,
  amount bigint not null check (amount >= 0),
  paid_seconds int not null check (paid_seconds >= 0),
  captured bigint check (captured >= 0 and captured <= amount)
);

create function ledger_is_append_only() returns trigger language plpgsql as $$
begin
  raise exception 'ledger entries are append-only';
end $$;
create trigger ledger_append_only before update or delete on ledger_entries
  for each row execute function ledger_is_append_only();

create function ledger_sums_to_zero() returns trigger language plpgsql as $$
begin
  if (select sum(amount) from ledger_entries where transaction_id = new.transaction_id) <> 0 then
    raise exception 'ledger transaction does not sum to zero';
  end if;
  return null;
end $$;
-- Deferred: the entries of one transaction come one by one, the sum is judged at commit.
create constraint trigger ledger_zero_sum after insert on ledger_entries
  deferrable initially deferred for each row execute function ledger_sums_to_zero();
