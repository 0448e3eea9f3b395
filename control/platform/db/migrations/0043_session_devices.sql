-- A person sees where each session is used. Null: unknown until its next use.
alter table sessions
  add column address text,
  add column user_agent text;
