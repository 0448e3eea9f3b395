-- What sources are cut into, and what it is found by.
create table knowledge_indexes (
  project_id uuid primary key references projects on delete cascade,
  -- Without a reference: the first indexing of a project would wait for the erasure of its account, and that for it.
  owner_id uuid not null,
  -- Stands before each lexeme of the project, so that a posting list of the index holds nothing of another one.
  number int generated always as identity unique,
  -- Raised whenever other chunks than before may be found; processes compare it with what they hold in memory.
  revision bigint not null default 0
);

-- Vectors of different models are never compared.
create table knowledge_models (
  id int generated always as identity primary key,
  name text not null,
  dimensions int not null,
  unique (name, dimensions)
);

create table knowledge_chunks (
  id uuid primary key default gen_random_uuid(),
  source_id uuid not null references knowledge_sources on delete cascade,
  ordinal int not null,
  owner_id uuid not null,
  project_id uuid not null,
  heading text not null,
  text text not null,
  url text,
  unique (source_id, ordinal)
);

-- Apart from the texts and never compressed: ranking reads a thousand of them for one question.
create table knowledge_terms (
  source_id uuid not null references knowledge_sources on delete cascade,
  ordinal int not null,
  terms tsvector not null,
  primary key (source_id, ordinal)
) with (toast_tuple_target = 8160);
alter table knowledge_terms alter column terms set storage external;
-- What waits in a pending list is read through by every question.
create index knowledge_terms_search on knowledge_terms using gin (terms) with (fastupdate = off);

-- In how many chunks of a source a lexeme is: which words of a question are rare in a project.
create table knowledge_lexemes (
  project_id uuid not null,
  lexeme text not null,
  source_id uuid not null references knowledge_sources on delete cascade,
  chunks int not null,
  primary key (project_id, lexeme, source_id) include (chunks)
);
create index knowledge_lexemes_source on knowledge_lexemes (source_id);

create table knowledge_vectors (
  source_id uuid not null,
  model_id int not null references knowledge_models,
  ordinal int not null,
  -- A float32 scale, then one signed byte a dimension.
  vector bytea not null,
  primary key (source_id, model_id, ordinal),
  foreign key (source_id, ordinal) references knowledge_chunks (source_id, ordinal) on delete cascade
);
alter table knowledge_vectors alter column vector set storage external;

-- Which state of a source's vectors a process holds: raised with each that is written.
create table knowledge_versions (
  source_id uuid primary key references knowledge_sources on delete cascade,
  owner_id uuid not null,
  project_id uuid not null,
  version bigint not null
);
create index knowledge_versions_project on knowledge_versions (project_id);
create sequence knowledge_version;

create function knowledge_source_changed() returns trigger language plpgsql as $$
begin
  update knowledge_indexes set revision = revision + 1 where project_id = old.project_id;
  return null;
end $$;
create trigger knowledge_source_deleted after delete on knowledge_sources
  for each row when (old.status = 'ready') execute function knowledge_source_changed();
create trigger knowledge_source_turned after update of status on knowledge_sources
  for each row when ((old.status = 'ready') <> (new.status = 'ready')) execute function knowledge_source_changed();
