/**
 * Vectors where they are best searched: by pgvector where the server has it, which takes no memory of this process and
 * nothing to load, else and in large projects by the thread of vectors.ts, which is faster. Both give the same scores.
 */
import type { Log } from '../../../media/shared/log.ts'
import type { Sql } from '../../platform/db/connect.ts'
import { errorFields } from '../../platform/log.ts'
import {
  copyVectors,
  markCopied,
  openVectorTable,
  selectNearest,
  selectProjectsBehind,
  selectSourceStates,
  type VectorTable,
} from './pgvector-sql.ts'
import { quantise, SCALE_BYTES } from './quantise.ts'
import { createVectorIndex, type VectorIndex, type VectorProject } from './vectors.ts'

/** Chunks of a project, all of which Postgres reads for one question. */
export const MOST_IN_TABLE = 10_000
/** Rows of one statement, during which the source cannot be deleted: 50 ms. */
const ROWS = 500
/** Projects of which is remembered how they stand; of others it is asked again. */
const MOST_KNOWN = 10_000

type Asked = Omit<VectorProject, 'dimensions'>

interface Known {
  revision: bigint
  inTable: boolean
}

export interface Vectors extends VectorIndex {
  /** Looks for the extension, and copies what is not in its table yet. Call as the process starts, and now and then. */
  prepare(modelId: number, signal: AbortSignal): Promise<void>
}

export function createVectors(deps: { sql: Sql; log: Log }, options: { mostInTable?: number } = {}): Vectors {
  const { sql, log } = deps
  const most = options.mostInTable ?? MOST_IN_TABLE
  const thread = createVectorIndex(deps)
  const look = createLook(deps)
  const known = new Map<string, Known>()
  const coming = new Map<string, Promise<boolean>>()
  let table: VectorTable | null = null

  const keyOf = ({ projectId, modelId }: Asked) => `${projectId}:${modelId}`
  function giveUp(error: unknown): void {
    log.warn({ error: errorFields(error) }, 'pgvector failed; this process holds the vectors until it is tried again')
    table = null
    known.clear()
  }

  async function bring(to: VectorTable, project: Asked): Promise<boolean> {
    const states = await selectSourceStates(sql, project.ownerId, project.projectId, project.modelId)
    const inTable = states.reduce((sum, { chunks }) => sum + chunks, 0) <= most
    for (const { source_id, version, copied } of inTable ? states : []) {
      if (!copied) await copySource(sql, to, source_id, project.modelId, version)
    }
    // It may have been given up, or another one opened, meanwhile.
    if (table !== to) return false
    known.delete(keyOf(project))
    known.set(keyOf(project), { revision: project.revision, inTable })
    if (known.size > MOST_KNOWN) known.delete(known.keys().next().value!)
    return inTable
  }

  /** Whether the table has all of it; false also where there is no table. */
  async function isInTable(project: Asked): Promise<boolean> {
    const key = keyOf(project)
    for (;;) {
      if (!table) return false
      const found = known.get(key)
      if (found && found.revision >= project.revision) return found.inTable
      const begun = coming.get(key)
      if (begun) {
        await begun
        continue
      }
      const bringing = bring(table, project).finally(() => coming.delete(key))
      coming.set(key, bringing)
      if (!(await bringing)) return false
    }
  }

  return {
    async prepare(modelId, signal) {
      table = await look()
      // The extension may have gone and come back meanwhile, and its table with it.
      known.clear()
      if (!table) return
      try {
        for (const { owner_id, project_id, revision } of await selectProjectsBehind(sql, modelId)) {
          if (signal.aborted) return
          await isInTable({ ownerId: owner_id, projectId: project_id, modelId, revision })
        }
      } catch (error) {
        giveUp(error)
      }
    },
    async refresh(project) {
      try {
        if (await isInTable(project)) return true
      } catch (error) {
        giveUp(error)
      }
      return thread.refresh(project)
    },
    async search(project, vector, limit) {
      if (!table || !known.get(keyOf(project))?.inTable) return thread.search(project, vector, limit)
      const bytes = quantise(vector)
      const query = {
        scale: bytes.readFloatLE(0),
        values: new Int8Array(bytes.buffer, bytes.byteOffset + SCALE_BYTES, vector.length),
      }
      try {
        return await selectNearest(sql, table, project, query, limit)
      } catch (error) {
        giveUp(error)
        await thread.refresh(project)
        return thread.search(project, vector, limit)
      }
    },
    close: () => thread.close(),
  }
}

async function copySource(
  sql: Sql,
  table: VectorTable,
  sourceId: string,
  modelId: number,
  version: bigint,
): Promise<void> {
  for (let after: number | null = -1; after !== null; ) {
    after = await copyVectors(sql, table, sourceId, modelId, after, ROWS)
  }
  await markCopied(sql, sourceId, modelId, version)
}

/** Says what it found when that is something else than the last time. */
function createLook({ sql, log }: { sql: Sql; log: Log }): () => Promise<VectorTable | null> {
  let last = ''
  const tell = (found: string, fields: Record<string, unknown>) => {
    if (found !== last) log.info(fields, found)
    last = found
  }
  return async () => {
    try {
      const table = await openVectorTable(sql)
      if (table) tell('vectors of knowledge are searched by pgvector', { type: table.type })
      else tell('the database has no pgvector; vectors of knowledge are searched in this process', {})
      return table
    } catch (error) {
      tell('pgvector cannot be used here; vectors of knowledge are searched in this process', {
        error: errorFields(error),
      })
      return null
    }
  }
}
