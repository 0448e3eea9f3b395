import type { Db, Tx } from '../../platform/db/connect.ts'
import type { Chunk, KnowledgeFound } from '../documents/types.ts'
import { type Language, languageOf, searchable } from './words.ts'

/** A chunk within a project: its source and its position in the source. */
export interface ChunkRef {
  source_id: string
  ordinal: number
}

/** A source with its owner and project. */
export interface SourceKey {
  id: string
  owner_id: string
  project_id: string
}

// ---- Writing ----

/**
 * Returns the number that prefixes the project's lexemes. Takes no lock that another source of the project waits for.
 */
export async function ensureIndex(tx: Tx, { owner_id, project_id }: SourceKey): Promise<number> {
  const find = () => tx<{ number: number }[]>`
    select number from knowledge_indexes where project_id = ${project_id} and owner_id = ${owner_id}`
  const [found] = await find()
  if (found) return found.number
  await tx`
    insert into knowledge_indexes (project_id, owner_id) values (${project_id}, ${owner_id}) on conflict do nothing`
  return (await find())[0]!.number
}

export async function deleteChunks(tx: Tx, { owner_id, id }: SourceKey): Promise<void> {
  await tx`delete from knowledge_chunks where owner_id = ${owner_id} and source_id = ${id}`
  await tx`delete from knowledge_terms where source_id = ${id}`
  await tx`delete from knowledge_lexemes where source_id = ${id}`
}

export async function insertChunks(tx: Tx, source: SourceKey, number: number, chunks: readonly Chunk[]): Promise<void> {
  const rows = chunks.map(({ ordinal, heading, text, url }) => ({
    ordinal,
    heading,
    text,
    url,
    source_id: source.id,
    owner_id: source.owner_id,
    project_id: source.project_id,
  }))
  await tx`insert into knowledge_chunks ${tx(rows)}`
  const terms = chunks.map(({ ordinal, heading, text }) => ({
    ordinal,
    language: languageOf(`${heading} ${text}`),
    heading: searchable(heading),
    text: searchable(text),
  }))
  const column = <K extends keyof (typeof terms)[number]>(name: K) => terms.map(term => term[name])
  // Lexemes with the project's number as prefix, in the text form of a tsvector.
  await tx`
    insert into knowledge_terms (source_id, ordinal, terms)
    select ${source.id}, c.ordinal, coalesce((
      select string_agg(
        '''' || replace(replace(${lexemePrefix(number)} || t.lexeme, '\\', '\\\\'), '''', '''''') || ''':' ||
        (select string_agg(p::text || w, ',') from unnest(t.positions, t.weights) as one(p, w)), ' ')
      from unnest(setweight(to_tsvector(c.language::regconfig, c.heading), 'A') ||
                  setweight(to_tsvector(c.language::regconfig, c.text), 'D')) as t
    ), '')::tsvector
    from unnest(${column('ordinal')}::int[], ${column('language')}::text[], ${column('heading')}::text[],
                ${column('text')}::text[]) as c(ordinal, language, heading, text)`
}

const lexemePrefix = (number: number) => `${number}:`

/** Call when all chunks are inserted. */
export async function countLexemes(tx: Tx, source: SourceKey): Promise<void> {
  await tx`
    insert into knowledge_lexemes (project_id, lexeme, source_id, chunks)
    select ${source.project_id}, lexeme, ${source.id}, count(*)
    from knowledge_terms, unnest(tsvector_to_array(terms)) as lexeme where source_id = ${source.id} group by lexeme`
}

// ---- Vectors ----

export async function ensureModel(db: Db, name: string, dimensions: number): Promise<number> {
  const find = () => db<{ id: number }[]>`
    select id from knowledge_models where name = ${name} and dimensions = ${dimensions}`
  const [found] = await find()
  if (found) return found.id
  await db`insert into knowledge_models (name, dimensions) values (${name}, ${dimensions}) on conflict do nothing`
  return (await find())[0]!.id
}

export async function selectUnembedded(
  db: Db,
  source: SourceKey,
  modelId: number,
  after: number,
  limit: number,
): Promise<{ ordinal: number; heading: string; text: string }[]> {
  return db`
    select ordinal, heading, text from knowledge_chunks c
    where owner_id = ${source.owner_id} and source_id = ${source.id} and ordinal > ${after} and not exists (
      select 1 from knowledge_vectors v
      where v.source_id = c.source_id and v.model_id = ${modelId} and v.ordinal = c.ordinal)
    order by ordinal limit ${limit}`
}

export async function countEmbedded(
  db: Db,
  source: SourceKey,
  modelId: number,
): Promise<{ chunks: number; embedded: number }> {
  const [row] = await db<{ chunks: number; embedded: number }[]>`
    select
      (select count(*)::int from knowledge_chunks where owner_id = ${source.owner_id} and source_id = ${source.id})
        as chunks,
      (select count(*)::int from knowledge_vectors where source_id = ${source.id} and model_id = ${modelId}) as embedded`
  return row!
}

/** Skips vectors of chunks that were deleted meanwhile. */
export async function insertVectors(
  db: Db,
  source: SourceKey,
  modelId: number,
  vectors: readonly { ordinal: number; vector: Buffer }[],
): Promise<void> {
  await db`
    insert into knowledge_vectors (source_id, model_id, ordinal, vector)
    select ${source.id}, ${modelId}, v.ordinal, decode(v.vector, 'hex')
    from unnest(${vectors.map(({ ordinal }) => ordinal)}::int[], ${vectors.map(({ vector }) => vector.toString('hex'))}::text[])
      as v(ordinal, vector)
    join knowledge_chunks c on c.source_id = ${source.id} and c.ordinal = v.ordinal and c.owner_id = ${source.owner_id}
    on conflict do nothing`
}

/** Signals to every process that the vectors of the source have changed; deletes vectors of unused models. */
export async function finishVectors(tx: Tx, source: SourceKey, modelId: number): Promise<void> {
  await tx`delete from knowledge_vectors where source_id = ${source.id} and model_id <> ${modelId}`
  await touchVersion(tx, source)
}

/** Must be last in its transaction, because other sources of the project wait for it. */
export async function touchVersion(tx: Tx, source: SourceKey): Promise<void> {
  await tx`
    insert into knowledge_versions (source_id, owner_id, project_id, version)
    select id, owner_id, project_id, nextval('knowledge_version') from knowledge_sources
    where id = ${source.id} and owner_id = ${source.owner_id}
    on conflict (source_id) do update set version = excluded.version`
  await tx`update knowledge_indexes set revision = revision + 1 where project_id = ${source.project_id}`
}

/** Ready sources with chunks that have no vector of this model, as after a change of the model. */
export async function selectStale(db: Db, modelId: number, limit: number): Promise<SourceKey[]> {
  return db<SourceKey[]>`
    select s.id, s.owner_id, s.project_id from knowledge_sources s
    where s.status = 'ready' and exists (
      select 1 from knowledge_chunks c where c.source_id = s.id and not exists (
        select 1 from knowledge_vectors v
        where v.source_id = c.source_id and v.model_id = ${modelId} and v.ordinal = c.ordinal))
    order by s.created_at limit ${limit}`
}

export async function selectVersions(
  db: Db,
  ownerId: string,
  projectId: string,
): Promise<{ source_id: string; version: bigint }[]> {
  return db`
    select v.source_id, v.version from knowledge_versions v join knowledge_sources s on s.id = v.source_id
    where v.owner_id = ${ownerId} and v.project_id = ${projectId} and s.status = 'ready' order by v.version`
}

/** In the order of the source. */
export async function selectVectors(
  db: Db,
  sourceId: string,
  modelId: number,
  after: number,
  limit: number,
): Promise<{ ordinal: number; vector: Buffer }[]> {
  return db`
    select ordinal, vector from knowledge_vectors
    where source_id = ${sourceId} and model_id = ${modelId} and ordinal > ${after} order by ordinal limit ${limit}`
}

// ---- Searching ----

export interface QueryWord {
  lexeme: string
  /** Number of chunks of the project that have the lexeme. */
  chunks: number
}

export interface Asked {
  revision: bigint
  /** Chunks of all sources of the project. */
  total: number
  /** Rarest first. */
  words: QueryWord[]
  /** Number of words of the query that no chunk has in any form. */
  unknown: number
}

/** Null when nothing was ever indexed for the project. */
export async function selectAsked(
  db: Db,
  ownerId: string,
  projectId: string,
  words: readonly string[],
): Promise<Asked | null> {
  const languages: Language[] = ['russian', 'english', 'simple']
  type Row = { revision: bigint; total: number; lexeme: string | null; chunks: number; places: number[] }
  const rows = await db<Row[]>`
    select i.revision, coalesce((
      select sum(chunks)::int from knowledge_sources where project_id = i.project_id and status = 'ready'), 0) as total,
      w.lexeme, w.chunks, w.places
    from knowledge_indexes i left join lateral (
      select q.lexeme, q.places, sum(l.chunks)::int as chunks
      from (
        select i.number || ':' || lexeme as lexeme, array_agg(distinct word.place::int) as places
        from unnest(${words}::text[]) with ordinality as word(text, place), unnest(${languages}::text[]) as language,
          unnest(tsvector_to_array(to_tsvector(language::regconfig, word.text))) as lexeme
        group by lexeme
      ) q join knowledge_lexemes l on l.project_id = i.project_id and l.lexeme = q.lexeme and l.source_id <> all (array(
        select id from knowledge_sources where project_id = i.project_id and status <> 'ready'))
      group by q.lexeme, q.places
    ) w on true
    where i.owner_id = ${ownerId} and i.project_id = ${projectId} order by w.chunks`
  if (!rows[0]) return null
  const found = rows.flatMap(({ lexeme, chunks, places }) => (lexeme === null ? [] : [{ lexeme, chunks, places }]))
  const known = new Set(found.flatMap(({ places }) => places))
  return {
    revision: rows[0].revision,
    total: rows[0].total,
    unknown: words.length - known.size,
    words: found.map(({ lexeme, chunks }) => ({ lexeme, chunks })),
  }
}

/** Weights of D, C, B and A: A is a heading, D is the text. */
const WEIGHTS = '{0.6, 0.6, 0.6, 1}'
/** Lexemes of a chunk of usual size, and how much less a longer one counts (BM25's b). */
const USUAL = 90
const LENGTH_MATTERS = 0.3

export interface WeightedWord {
  lexeme: string
  weight: number
}

export interface CandidatePlan {
  /** A tsquery, and how many of its matches are ranked. */
  candidates: string
  most: number
  /** Weight of all words of the query, including those that no chunk has. */
  full: number
  words: WeightedWord[]
}

/** `share`: weight of the query's words that the chunk has, relative to all of them, 0–1. */
export type Worded = ChunkRef & { score: number; share: number }

/**
 * Ranks like BM25: the sum over the query's words of the word's rarity times its frequency with diminishing returns
 * (`ts_rank` of one word is such a sum, 1/n² for the nth), divided by the length.
 */
export async function selectRanked(
  db: Db,
  projectId: string,
  plan: CandidatePlan,
  limit: number,
  signal: AbortSignal,
): Promise<Worded[]> {
  const score = plan.words
    .map(
      ({ lexeme, weight }) => db`${weight}::float4 * ts_rank(${WEIGHTS}::float4[], terms, ${quoted(lexeme)}::tsquery)`,
    )
    .reduce((sum, one) => db`${sum} + ${one}`)
  const known = plan.words
    .map(({ lexeme, weight }) => db`${weight}::float4 * (terms @@ ${quoted(lexeme)}::tsquery)::int`)
    .reduce((sum, one) => db`${sum} + ${one}`)
  const query = db<Worded[]>`
    select source_id, ordinal, score, (${known}) / ${plan.full}::float4 as share from (
      select c.source_id, c.ordinal, c.terms,
        (${score}) / (1 - ${LENGTH_MATTERS}::float4 + ${LENGTH_MATTERS}::float4 * length(terms) / ${USUAL}::float4) as score
      from (
        select source_id, ordinal, terms from knowledge_terms
        -- Before the limit. Excludes sources that are not ready, which are few, so that only the index of the words is
        -- used.
        where terms @@ ${plan.candidates}::tsquery and source_id <> all (array(
          select id from knowledge_sources where project_id = ${projectId} and status <> 'ready'))
        limit ${plan.most}
      ) c
      order by score desc, c.source_id, c.ordinal limit ${limit}
    ) best order by score desc, source_id, ordinal`
  const cancel = () => query.cancel()
  signal.addEventListener('abort', cancel, { once: true })
  try {
    return await query
  } finally {
    signal.removeEventListener('abort', cancel)
  }
}

/** Quotes a lexeme for a tsquery. */
export const quoted = (lexeme: string) => `'${lexeme.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`

/** In the requested order, without sources that are no longer ready. */
export async function selectFound(
  db: Db,
  ownerId: string,
  projectId: string,
  places: readonly ChunkRef[],
): Promise<Omit<KnowledgeFound & ChunkRef, 'score'>[]> {
  return db`
    select c.id as chunk_id, c.source_id, c.ordinal, s.name as source, c.heading, c.text, c.url
    from unnest(${places.map(place => place.source_id)}::uuid[], ${places.map(place => place.ordinal)}::int[])
      with ordinality as p(source_id, ordinal, place)
    join knowledge_chunks c on c.source_id = p.source_id and c.ordinal = p.ordinal
    join knowledge_sources s on s.id = c.source_id
    where s.owner_id = ${ownerId} and s.project_id = ${projectId} and s.status = 'ready' order by p.place`
}
