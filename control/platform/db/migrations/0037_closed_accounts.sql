-- The person deleted the account: nobody gets in any more, and it is erased when its last call has ended.
alter table accounts add column closed_at timestamptz(3);
