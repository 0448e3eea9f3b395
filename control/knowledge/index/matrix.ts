/**
 * Vectors of projects in one memory of blocks, with exact search. A deleted row is replaced by the last one; a deleted
 * project frees its blocks. Rows store the number of their source and the chunk's ordinal.
 */
import { type Dots, type KernelMemory, loadKernel, ROWS_AT_ONCE } from './kernel.ts'
import { SCALE_BYTES } from './quantise.ts'

const PAGE = 65_536
const BLOCK = 16 * PAGE
/** Space for the query, as int16. */
const QUERY_PAGES = 1
/** Space for the sums of a block of the narrowest rows. */
const SUM_PAGES = 4
const FIRST_BLOCK = (QUERY_PAGES + SUM_PAGES) * PAGE
const STEP = 16

interface Project {
  width: number
  rowsOfABlock: number
  blocks: number[]
  rows: number
  sources: Uint32Array
  ordinals: Int32Array
  scales: Float32Array
}

export interface Hit {
  source: number
  ordinal: number
  /** Cosine similarity, because both vectors have unit length. */
  score: number
}

export interface Matrix {
  /** `vectors` in the format of the table, one after the other. False when memory is full before all are added. */
  add(project: string, dimensions: number, source: number, ordinals: readonly number[], vectors: Uint8Array): boolean
  drop(project: string, source: number): void
  forget(project: string): void
  search(project: string, query: Uint8Array, limit: number): Hit[]
  bytes: number
}

export async function createMatrix(mostBytes: number): Promise<Matrix> {
  const mostBlocks = Math.max(1, Math.floor(mostBytes / BLOCK))
  const firstPages = FIRST_BLOCK / PAGE
  const { memory, dots } = await loadKernel({
    initial: firstPages,
    maximum: Math.min(65_536, firstPages + (mostBlocks * BLOCK) / PAGE),
  })
  const projects = new Map<string, Project>()
  const free: number[] = []
  let made = 0
  const takeBlock = (): number | null => {
    if (free.length > 0) return free.pop()!
    if (made >= mostBlocks) return null
    memory.grow(BLOCK / PAGE)
    return FIRST_BLOCK + BLOCK * made++
  }
  return {
    add(name, dimensions, source, ordinals, vectors) {
      const project = projects.get(name) ?? emptyProject(dimensions)
      projects.set(name, project)
      for (const [i, ordinal] of ordinals.entries()) {
        if (project.rows === project.blocks.length * project.rowsOfABlock) {
          const block = takeBlock()
          if (block === null) return false
          project.blocks.push(block)
        }
        const from = i * (SCALE_BYTES + dimensions)
        writeRow(memory, project, { source, ordinal }, vectors.subarray(from, from + SCALE_BYTES + dimensions))
      }
      return true
    },
    drop(name, source) {
      const project = projects.get(name)
      if (project) dropRows(memory, project, source)
      while (
        project &&
        (project.blocks.length - 1) * project.rowsOfABlock >= project.rows &&
        project.blocks.length > 0
      ) {
        free.push(project.blocks.pop()!)
      }
    },
    forget(name) {
      free.push(...(projects.get(name)?.blocks ?? []))
      projects.delete(name)
    },
    search(name, query, limit) {
      const project = projects.get(name)
      return project ? scan(memory, dots, project, query, limit) : []
    },
    get bytes() {
      return memory.buffer.byteLength
    },
  }
}

function emptyProject(dimensions: number): Project {
  const width = Math.ceil(dimensions / STEP) * STEP
  return {
    width,
    rowsOfABlock: Math.floor(BLOCK / width / ROWS_AT_ONCE) * ROWS_AT_ONCE,
    blocks: [],
    rows: 0,
    sources: new Uint32Array(64),
    ordinals: new Int32Array(64),
    scales: new Float32Array(64),
  }
}

const placeOf = (project: Project, row: number) =>
  project.blocks[Math.floor(row / project.rowsOfABlock)]! + (row % project.rowsOfABlock) * project.width

function writeRow(memory: KernelMemory, project: Project, at: Omit<Hit, 'score'>, vector: Uint8Array): void {
  if (project.rows === project.sources.length) {
    const size = 2 * project.rows
    project.sources = grown(new Uint32Array(size), project.sources)
    project.ordinals = grown(new Int32Array(size), project.ordinals)
    project.scales = grown(new Float32Array(size), project.scales)
  }
  const row = project.rows++
  project.sources[row] = at.source
  project.ordinals[row] = at.ordinal
  project.scales[row] = scaleOf(vector)
  const target = new Uint8Array(memory.buffer, placeOf(project, row), project.width)
  target.set(vector.subarray(SCALE_BYTES))
  target.fill(0, vector.length - SCALE_BYTES)
}

function grown<T extends Uint32Array | Int32Array | Float32Array>(larger: T, values: T): T {
  larger.set(values)
  return larger
}

const scaleOf = (vector: Uint8Array) => new DataView(vector.buffer, vector.byteOffset, SCALE_BYTES).getFloat32(0, true)

function dropRows(memory: KernelMemory, project: Project, source: number): void {
  const bytes = new Uint8Array(memory.buffer)
  for (let row = project.rows - 1; row >= 0; row--) {
    if (project.sources[row] !== source) continue
    const last = --project.rows
    if (row === last) continue
    const from = placeOf(project, last)
    bytes.copyWithin(placeOf(project, row), from, from + project.width)
    project.sources[row] = project.sources[last]!
    project.ordinals[row] = project.ordinals[last]!
    project.scales[row] = project.scales[last]!
  }
}

function scan(memory: KernelMemory, dots: Dots, project: Project, query: Uint8Array, limit: number): Hit[] {
  const wide = new Int16Array(memory.buffer, 0, project.width).fill(0)
  wide.set(new Int8Array(query.buffer, query.byteOffset + SCALE_BYTES, query.length - SCALE_BYTES))
  const scale = scaleOf(query)
  const best = createBest(limit)
  const sums = new Int32Array(memory.buffer, QUERY_PAGES * PAGE, project.rowsOfABlock)
  for (const [i, block] of project.blocks.entries()) {
    const first = i * project.rowsOfABlock
    const count = Math.min(project.rowsOfABlock, project.rows - first)
    if (count <= 0) break
    dots(block, count, project.width, 0, sums.byteOffset)
    for (let row = 0; row < count; row++) best.offer(first + row, sums[row]! * project.scales[first + row]!)
  }
  return best.rows().map(({ row, score }) => ({
    source: project.sources[row]!,
    ordinal: project.ordinals[row]!,
    score: score * scale,
  }))
}

/** Keeps the best few of many in order; one comparison rejects nearly all. */
function createBest(limit: number): {
  offer(row: number, score: number): void
  rows(): { row: number; score: number }[]
} {
  const kept: { row: number; score: number }[] = []
  let bar = Number.NEGATIVE_INFINITY
  return {
    offer(row, score) {
      if (score <= bar) return
      let at = kept.length
      while (at > 0 && kept[at - 1]!.score < score) at--
      kept.splice(at, 0, { row, score })
      if (kept.length > limit) kept.pop()
      if (kept.length === limit) bar = kept.at(-1)!.score
    },
    rows: () => kept,
  }
}
