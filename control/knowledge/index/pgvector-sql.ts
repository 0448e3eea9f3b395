/**
 * Copies of the vectors in pgvector's types, in tables that exist only where the server has the extension. Each row is
 * deleted with the row of `knowledge_vectors` that it was copied from. The extension may be in any schema, so its names
 * are qualified.
 */
import type { Db, Sql } from '../../platform/db/connect.ts'
import { SCALE_BYTES } from './quantise.ts'
import type { Place } from './sql.ts'

/** `halfvec` takes half the bytes of `vector` and is as exact for signed bytes; available since pgvector 0.7. */
const TYPES = ['halfvec', 'vector'] as const

export interface VectorTable {
  /** Schema of the extension. */
  schema: string
  type: (typeof TYPES)[number]
}

/** Null when the server does not have the extension. Rejects when it has it and we may not create it. */
export function openVectorTable(sql: Sql): Promise<VectorTable | null> {
  return sql.begin(async tx => {
    await tx`select pg_advisory_xact_lock(hashtextextended('parley.pgvector', 0))`
    const [available] = await tx`select 1 from pg_available_extensions where name = 'vector'`
    if (!available) return null
    await tx`create extension if not exists vector`
    return (await selectTable(tx)) ?? (await createTable(tx))
  })
}

/** Null when there is no table, or its column was dropped with the extension. */
async function selectTable(db: Db): Promise<VectorTable | null> {
  const [found] = await db<VectorTable[]>`
    select n.nspname as schema, t.typname as type from pg_attribute a
    join pg_type t on t.oid = a.atttypid join pg_namespace n on n.oid = t.typnamespace
    where a.attrelid = to_regclass('knowledge_pgvectors') and a.attname = 'embedding' and not a.attisdropped`
  return found ?? null
}

async function createTable(db: Db): Promise<VectorTable> {
  const [extension] = await db<{ schema: string; types: string[] }[]>`
    select n.nspname as schema,
      array(select typname::text from pg_type where typnamespace = n.oid and typname = any(${[...TYPES]})) as types
    from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'vector'`
  const { schema, types } = extension!
  const type = TYPES.find(name => types.includes(name))!
  await db`drop table if exists knowledge_pgvectors, knowledge_pgvector_sources`
  await db`
    create table knowledge_pgvectors (
      source_id uuid not null, model_id int not null, ordinal int not null, scale float8 not null,
      embedding ${typeOf(db, { schema, type })} not null,
      primary key (source_id, model_id, ordinal),
      foreign key (source_id, model_id, ordinal) references knowledge_vectors on delete cascade
    ) with (toast_tuple_target = 8160)`
  await db`
    create table knowledge_pgvector_sources (
      source_id uuid not null references knowledge_sources on delete cascade, model_id int not null,
      version bigint not null, primary key (source_id, model_id)
    )`
  return { schema, type }
}

const typeOf = (db: Db, { schema, type }: VectorTable) => db`${db(schema)}.${db(type)}`

export interface SourceState {
  source_id: string
  chunks: number
  version: bigint
  /** True when all vectors of that version are in the table. */
  copied: boolean
}

export async function selectSourceStates(
  db: Db,
  ownerId: string,
  projectId: string,
  modelId: number,
): Promise<SourceState[]> {
  return db`
    select s.id as source_id, s.chunks, v.version, p.version is not distinct from v.version as copied
    from knowledge_sources s join knowledge_versions v on v.source_id = s.id
    left join knowledge_pgvector_sources p on p.source_id = s.id and p.model_id = ${modelId}
    where s.owner_id = ${ownerId} and s.project_id = ${projectId} and s.status = 'ready'`
}

/** Projects with sources that are not in the table yet, in their last version. */
export async function selectProjectsBehind(
  db: Db,
  modelId: number,
): Promise<{ owner_id: string; project_id: string; revision: bigint }[]> {
  return db`
    select i.owner_id, i.project_id, i.revision from knowledge_indexes i where exists (
      select 1 from knowledge_sources s join knowledge_versions v on v.source_id = s.id
      left join knowledge_pgvector_sources p on p.source_id = s.id and p.model_id = ${modelId}
      where s.project_id = i.project_id and s.status = 'ready' and p.version is distinct from v.version)`
}

/**
 * Copies the next rows in the order of the source. Returns the last ordinal, or null when none is left. Locks the
 * source first, as its deletion does, to avoid a deadlock.
 */
export function copyVectors(
  sql: Sql,
  table: VectorTable,
  sourceId: string,
  modelId: number,
  after: number,
  limit: number,
): Promise<number | null> {
  return sql.begin(async tx => {
    const [source] = await tx`select 1 from knowledge_sources where id = ${sourceId} for key share`
    if (!source) return null
    const [row] = await tx<{ last: number | null }[]>`
      with few as (
        select source_id, model_id, ordinal, vector from knowledge_vectors
        where source_id = ${sourceId} and model_id = ${modelId} and ordinal > ${after}
        order by ordinal limit ${limit} for key share
      ), copied as (
        insert into knowledge_pgvectors (source_id, model_id, ordinal, scale, embedding)
        select source_id, model_id, ordinal, ${scaleOf(tx)}, array(
          select (get_byte(vector, i) # 128) - 128 from generate_series(${SCALE_BYTES}::int, octet_length(vector) - 1) i
        )::${typeOf(tx, table)} from few on conflict do nothing
      )
      select max(ordinal) as last from few`
    return row!.last
  })
}

/** Decodes a positive float32 from its bytes (IEEE 754), for which Postgres has no cast. */
const scaleOf = (db: Db) => db`(
  select (1 + (bits & 8388607) / 8388608::float8) * 2 ^ ((bits >> 23) - 127)::float8
  from (select (get_byte(vector, 3) << 24) + (get_byte(vector, 2) << 16) + (get_byte(vector, 1) << 8)
    + get_byte(vector, 0)) as b(bits))`

export async function markCopied(db: Db, sourceId: string, modelId: number, version: bigint): Promise<void> {
  await db`
    insert into knowledge_pgvector_sources (source_id, model_id, version)
    select id, ${modelId}, ${version} from knowledge_sources where id = ${sourceId}
    on conflict (source_id, model_id) do update set version = excluded.version`
}

/**
 * `query`: signed bytes; `scale`: their factor. Exact search: reads all rows of the project, source by source, because
 * the planner would otherwise scan the whole table when it is not much larger.
 */
export function selectNearest(
  sql: Sql,
  table: VectorTable,
  of: { ownerId: string; projectId: string; modelId: number },
  query: { scale: number; values: Int8Array },
  limit: number,
): Promise<(Place & { score: number })[]> {
  return sql.begin(async tx => {
    // The planner takes the cost of many sources for a long query, and JIT compilation takes longer than the query.
    await tx`set local jit = off`
    return tx<(Place & { score: number })[]>`
      select p.source_id, p.ordinal, p.score from knowledge_sources s cross join lateral (
        select source_id, ordinal, scale * ${query.scale}::float8 *
          -(embedding operator(${tx(table.schema)}.<#>) ${`[${query.values.join(',')}]`}::${typeOf(tx, table)}) as score
        from knowledge_pgvectors where source_id = s.id and model_id = ${of.modelId}
        order by score desc, ordinal limit ${limit}
      ) p
      where s.owner_id = ${of.ownerId} and s.project_id = ${of.projectId} and s.status = 'ready'
      order by p.score desc, p.source_id, p.ordinal limit ${limit}`
  })
}
