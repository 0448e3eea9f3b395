-- What an owner has spent is read off here: the captured entries of a stretch of time, and none of the others.
create index ledger_entries_spent on ledger_entries (owner_id, created_at) include (amount, call_id, job_id)
  where account = 'revenue';
