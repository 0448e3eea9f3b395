-- Stored calls, events and traces use the names of the API: `verdict` of a tool call becomes `status`, `taken` of
-- `transfer.settled` becomes `accepted`, `made_up` and `left_out` of a trace become `generated` and `omitted`, and
-- `words` of a diagnosis becomes `message`. Bodies of webhook deliveries stay as they were signed.
create function pg_temp.renamed(object jsonb, old text, new text) returns jsonb language sql immutable as $$
  select case when object ? old then (object - old) || jsonb_build_object(new, object -> old) else object end
$$;
create function pg_temp.all_renamed(list jsonb, old text, new text) returns jsonb language sql immutable as $$
  select coalesce(jsonb_agg(pg_temp.renamed(one, old, new) order by place), '[]')
  from jsonb_array_elements(list) with ordinality as elements (one, place)
$$;

-- safe: 0.1 processes are stopped before 0038 already; only calls that used a tool are written
update calls set tool_calls = pg_temp.all_renamed(tool_calls, 'verdict', 'status')
where jsonb_path_exists(tool_calls, '$[*].verdict');

-- safe: 0.1 processes are stopped before 0038 already; events are deleted after days
update call_events set data = jsonb_set(data, '{tool}', pg_temp.renamed(data -> 'tool', 'verdict', 'status'))
where type = 'tool.finished' and data -> 'tool' ? 'verdict';

-- safe: as above
update call_events set data = pg_temp.renamed(data, 'taken', 'accepted')
where type = 'transfer.settled' and data ? 'taken';

-- safe: renaming reads no row, and 0.1 processes are stopped before 0038 already
alter table call_traces rename column left_out to omitted;

-- safe: 0.1 processes are stopped before 0038 already; traces are deleted after days
update call_traces
set messages = pg_temp.all_renamed(messages, 'made_up', 'generated'),
  diagnosis = pg_temp.renamed(diagnosis, 'words', 'message');
