-- When the caller came for whom the latest dialogue is, by LiveKit's clock: who has not come since is not given another.
alter table realtime_sessions add column caller_since timestamptz(3);
