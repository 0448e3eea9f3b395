create table projects (
  id uuid primary key,
  owner_id uuid not null references accounts,
  name text not null,
  language text not null,
  settings jsonb not null,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  -- Kept after deletion because calls point to it.
  deleted_at timestamptz(3)
);
create index projects_owner on projects (owner_id, created_at desc, id desc) where deleted_at is null;
