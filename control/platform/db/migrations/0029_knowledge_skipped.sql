-- Of a site: how many of what was found are not indexed, by the reason why, in words of control/knowledge/types.ts.
alter table knowledge_sources add column skipped jsonb not null default '{}';
