create table trunks (
  id uuid primary key,
  owner_id uuid not null references accounts,
  name text not null,
  mode text not null check (mode in ('register', 'ip', 'both')),
  host text not null,
  port int not null check (port between 1 and 65535),
  transport text not null check (transport in ('udp', 'tcp', 'tls')),
  username text,
  password_sealed text,
  realm text,
  outbound_proxy text,
  allowed_ips text[] not null,
  codecs text[] not null,
  max_calls int check (max_calls > 0),
  registration text not null default 'none' check (registration in ('none', 'registering', 'registered', 'failed')),
  last_error text,
  status_at timestamptz(3),
  created_at timestamptz(3) not null
);
create index trunks_owner on trunks (owner_id, created_at desc, id desc);

create table numbers (
  id uuid primary key,
  owner_id uuid not null references accounts,
  trunk_id uuid not null references trunks on delete cascade,
  number text not null,
  created_at timestamptz(3) not null,
  unique (owner_id, number)
);
create index numbers_list on numbers (owner_id, created_at desc, id desc);
create index numbers_trunk on numbers (trunk_id);

-- A binding of both directions is two rows.
create table number_bindings (
  number_id uuid not null references numbers on delete cascade,
  direction text not null check (direction in ('in', 'out')),
  owner_id uuid not null references accounts,
  project_id uuid not null references projects,
  created_at timestamptz(3) not null,
  primary key (number_id, direction)
);
create index number_bindings_project on number_bindings (project_id, direction);

-- One row: the version of the trunk snapshot, which rises with each change.
create table trunks_version (id int primary key default 1 check (id = 1), version int not null);
insert into trunks_version (version) values (1);
