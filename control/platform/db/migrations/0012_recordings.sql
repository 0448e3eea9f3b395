-- {key, duration_ms, bytes} of a file in the blob store.
alter table calls add column recording jsonb;
