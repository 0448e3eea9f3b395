/**
 * Chooses where vectors are searched: in pgvector where the server has it, which needs no memory of this process and no
 * loading; otherwise, and for large projects, in the thread of vectors.ts, which is faster. Both give the same scores.
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

/** Chunks of a project up to which pgvector is used; Postgres reads all of them for one query. */
export const MOST_IN_TABLE = 10_000
/** Rows of one statement, during which the source cannot be deleted: 50 ms. */
const ROWS = 500
/** Projects whose state is cached; for others it is queried again. */
const MOST_KNOWN = 10_000

type Asked = Omit<VectorProject, 'dimensions'>

interface Known {
  revision: bigint
  inTable: boolean
}

export interface Vectors extends VectorIndex {
  /** Finds the extension, and copies what is missing in its table. Call at process start, and periodically. */
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
    log.warn({ error: errorFields(error) }, 'pgvector failed; vectors are kept in this process until the next attempt')
    table = null
    known.clear()
  }

  async function bring(to: VectorTable, project: Asked): Promise<boolean> {
    const states = await selectSourceStates(sql, project.ownerId, project.projectId, project.modelId)
    const inTable = states.reduce((sum, { chunks }) => sum + chunks, 0) <= most
    for (const { source_id, version, copied } of inTable ? states : []) {
      if (!copied) await copySource(sql, to, source_id, project.modelId, version)
    }
    // Meanwhile pgvector may have failed, or another table may have been opened.
    if (table !== to) return false
    known.delete(keyOf(project))
    known.set(keyOf(project), { revision: project.revision, inTable })
    if (known.size > MOST_KNOWN) known.delete(known.keys().next().value!)
    return inTable
  }

  /** True when the table has all vectors of the project; false when there is no table. */
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
      // The extension may have been dropped and created again, and its table with it.
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

/** Logs the result when it differs from the last one. */
function createLook({ sql, log }: { sql: Sql; log: Log }): () => Promise<VectorTable | null> {
  let last = ''
  const report = (found: string, fields: Record<string, unknown>) => {
    if (found !== last) log.info(fields, found)
    last = found
  }
  return async () => {
    try {
      const table = await openVectorTable(sql)
      if (table) report('knowledge vectors are searched in pgvector', { type: table.type })
      else report('pgvector is not installed; knowledge vectors are searched in this process', {})
      return table
    } catch (error) {
      report('pgvector cannot be used; knowledge vectors are searched in this process', {
        error: errorFields(error),
      })
      return null
    }
  }
}
