-- What the record of a call says of itself: why nothing was extracted, which words show the goal, which vars were empty.
alter table calls
  add column extraction_problem text,
  add column goal_evidence text,
  add column missing_vars text[] not null default '{}';
