-- `brain` becomes `llm`, `brain_fallback` becomes `llm_fallback`, and both name their `provider` as speech-to-text and
-- text-to-speech do. A key that is absent stays absent: the schema has defaults for it.
create function pg_temp.with_provider(model jsonb) returns jsonb language sql immutable as $$
  select case when model ? 'kind' then (model - 'kind') || jsonb_build_object('provider', model -> 'kind') else model end
$$;

-- safe: an installation has thousands of projects, not millions, and calls only read them; 0.1 processes are stopped first
update projects
set settings = (settings - 'brain' - 'brain_fallback')
  || case when settings ? 'brain'
       then jsonb_build_object('llm', pg_temp.with_provider(settings -> 'brain')) else '{}' end
  || case when settings ? 'brain_fallback'
       then jsonb_build_object('llm_fallback', (
         select coalesce(jsonb_agg(pg_temp.with_provider(one) order by place), '[]')
         from jsonb_array_elements(settings -> 'brain_fallback') with ordinality as list (one, place)))
       else '{}' end
where settings ? 'brain' or settings ? 'brain_fallback';
