-- What a caller hears who is refused, before the refusal; null: nothing.
alter table trunks
  add column refusal_announcement text,
  add column refusal_language text not null default 'en';
