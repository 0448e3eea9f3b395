-- Which span of which trace a call and the deliveries about it belong to (W3C Trace Context); null: nothing was traced.
alter table calls add column traceparent text;
alter table webhook_deliveries add column traceparent text;
