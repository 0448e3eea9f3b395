-- SIP telephones that register with us. The password is nowhere: what digest needs of it is sealed.
create table softphones (
  id uuid primary key,
  owner_id uuid not null references accounts,
  -- Whose agent answers.
  project_id uuid not null references projects,
  name text not null,
  username text not null unique,
  credentials_sealed text not null,
  created_at timestamptz(3) not null
);
create index softphones_list on softphones (owner_id, created_at desc, id desc);
