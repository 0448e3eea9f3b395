-- Null: from everywhere, and for all projects. A list is never empty: that would be a key without any use.
-- safe: no row has a value yet, so the checks have nothing to read for long
alter table api_keys
  add column addresses text[],
  add column project_ids uuid[];
