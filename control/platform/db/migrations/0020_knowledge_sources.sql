-- What agents know: texts, sites and files of a project. Their chunks are in the next migration.
create table knowledge_sources (
  id uuid primary key,
  owner_id uuid not null references accounts,
  project_id uuid not null references projects,
  kind text not null check (kind in ('text', 'url', 'file')),
  name text not null,
  status text not null check (status in ('pending', 'indexing', 'ready', 'error')),
  -- Of a text or a file, in words of control/knowledge/types.ts.
  document_kind text,
  url text,
  crawl boolean not null default false,
  max_pages int not null default 1,
  bytes int not null default 0,
  -- The same content twice in a project is one source.
  content_hash bytea not null,
  -- False while its file is on its way to the blob store: nobody sees it yet.
  stored boolean not null,
  -- Which run may write: raised by each run that begins, so that one that was taken for dead writes nothing.
  attempt int not null default 0,
  -- Runs since it was added, those included that were killed: a source that kills its process is given up in the end.
  tries int not null default 0,
  -- Chunks of all its pages are there; what is missing are vectors.
  chunked boolean not null default false,
  pages int not null default 0,
  chunks int not null default 0,
  error_code text,
  error_message text,
  created_at timestamptz(3) not null,
  unique (project_id, content_hash)
);
create index knowledge_sources_list on knowledge_sources (project_id, created_at desc, id desc);
create index knowledge_sources_owner on knowledge_sources (owner_id);
create index knowledge_sources_unstored on knowledge_sources (created_at) where not stored;
