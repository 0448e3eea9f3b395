-- What an owner sets against a stolen key, or an agent that runs wild: where may be called, and what a day may cost.
alter table accounts add column destinations text[] not null default '{}';
alter table balances
  add column daily_cap bigint check (daily_cap >= 0),
  -- Captured on the UTC day `spent_on`; what an earlier day cost counts no more.
  add column spent_on date,
  add column spent bigint not null default 0;

/* Of the balance what may be set aside now. Money that is held counts as spent, or calls side by side could pass the cap. */
create function spendable(balance balances, at timestamptz) returns bigint language sql immutable as $$
  select case when balance.daily_cap is null then balance.available
    else greatest(0, least(balance.available, balance.daily_cap - balance.held
      - case when balance.spent_on = (at at time zone 'UTC')::date then balance.spent else 0 end)) end
$$;
