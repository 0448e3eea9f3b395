/**
 * Converts a CTranslate2 Whisper model (binary version 6, float16) to whisper.cpp's ggml file with 8-bit weights
 * (Q8_0), which halves memory without loss of accuracy. The package contains only the former format.
 */
import { closeSync, openSync, writeSync } from 'node:fs'

interface Tensor {
  dims: number[]
  /** True for float16, false for float32. */
  half: boolean
  bytes: Buffer
}

const CT2_FLOAT16 = 4
const GGML_MAGIC = 0x67676d6c
const HEAD_SIZE = 64
const MEL_BINS = 201
const SAMPLE_RATE = 16_000
/** Q8_0: a float16 scale and 32 signed bytes. */
const BLOCK = 32
const FTYPE_Q8 = 2007
const TYPE = { f32: 0, f16: 1, q8: 8 } as const
const MULTILINGUAL_TOKENS = 51_865
const TEXT_TOKENS = 50_257

export function writeWhisperFile(model: Buffer, vocabulary: string, file: string): void {
  const tensors = readTensors(model)
  const out = openSync(file, 'w')
  try {
    const write = (data: Buffer) => {
      for (let at = 0; at < data.length; ) at += writeSync(out, data, at)
    }
    for (const part of ggmlParts(tensors, vocabulary)) write(part)
  } finally {
    closeSync(out)
  }
}

// CTranslate2.

function readTensors(data: Buffer): Map<string, Tensor> {
  let at = 0
  const u32 = () => {
    at += 4
    return data.readUInt32LE(at - 4)
  }
  /** The length includes the terminating zero. */
  const text = () => {
    const length = data.readUInt16LE(at)
    at += 2 + length
    return data.toString('latin1', at - length, at - 1)
  }
  u32() // version
  const spec = text()
  if (spec !== 'WhisperSpec') throw new Error(`Expected a Whisper model, not ${spec}`)
  u32() // revision
  const tensors = new Map<string, Tensor>()
  for (let left = u32(); left > 0; left--) {
    const name = text()
    const dims = Array.from({ length: data[at++]! }, u32)
    const half = data[at++] === CT2_FLOAT16
    const size = u32()
    tensors.set(name, { dims, half, bytes: data.subarray(at, at + size) })
    at += size
  }
  return tensors
}

function floats({ bytes, half }: Tensor): Float32Array {
  const values = new Float32Array(bytes.length / (half ? 2 : 4))
  for (let i = 0; i < values.length; i++) {
    values[i] = half ? fromHalf(bytes.readUInt16LE(2 * i)) : bytes.readFloatLE(4 * i)
  }
  return values
}

function rows(tensor: Tensor, from: number, to: number): Tensor {
  const row = tensor.bytes.length / tensor.dims[0]!
  return {
    ...tensor,
    dims: [to - from, ...tensor.dims.slice(1)],
    bytes: tensor.bytes.subarray(from * row, to * row),
  }
}

// IEEE 754 half precision.

function fromHalf(half: number): number {
  const sign = half >> 15 ? -1 : 1
  const exponent = (half >> 10) & 31
  const fraction = half & 1023
  if (exponent === 31) return fraction ? Number.NaN : sign * Number.POSITIVE_INFINITY
  return exponent === 0 ? sign * fraction * 2 ** -24 : sign * (1 + fraction / 1024) * 2 ** (exponent - 15)
}

const float = new Float32Array(1)
const floatBits = new Uint32Array(float.buffer)
function toHalf(value: number): number {
  float[0] = value
  const bits = floatBits[0]!
  const sign = (bits >>> 16) & 0x8000
  const exponent = ((bits >>> 23) & 255) - 112
  if (exponent <= 0) return sign
  if (exponent >= 31) return sign | 0x7bff
  const rounded = ((exponent << 10) | ((bits >>> 13) & 1023)) + ((bits >>> 12) & 1)
  return sign | Math.min(rounded, 0x7bff)
}

// ggml.

const i32 = (...values: number[]) => {
  const data = Buffer.alloc(4 * values.length)
  for (const [i, value] of values.entries()) data.writeInt32LE(value, 4 * i)
  return data
}

type Kind = keyof typeof TYPE

function encode(values: Float32Array, kind: Kind): Buffer {
  if (kind === 'f32') return Buffer.from(values.buffer, values.byteOffset, values.byteLength)
  if (kind === 'f16') {
    const data = Buffer.alloc(values.length * 2)
    for (const [i, value] of values.entries()) data.writeUInt16LE(toHalf(value), 2 * i)
    return data
  }
  const data = Buffer.alloc((values.length / BLOCK) * (BLOCK + 2))
  for (let block = 0; block * BLOCK < values.length; block++) {
    const part = values.subarray(block * BLOCK, (block + 1) * BLOCK)
    const scale = part.reduce((most, value) => Math.max(most, Math.abs(value)), 0) / 127
    const at = block * (BLOCK + 2)
    data.writeUInt16LE(toHalf(scale), at)
    for (const [i, value] of part.entries()) {
      const steps = scale === 0 ? 0 : Math.round(value / scale)
      data.writeInt8(Math.max(-127, Math.min(127, steps)), at + 2 + i)
    }
  }
  return data
}

function* ggmlParts(tensors: Map<string, Tensor>, vocabulary: string): Generator<Buffer> {
  const source = new Tensors(tensors)
  const embeddings = source.get('decoder/embeddings/weight')
  const [tokens, width] = embeddings.dims as [number, number]
  const audio = source.get('encoder/position_encodings/encodings')
  const words = source.get('decoder/position_encodings/encodings')
  const mels = source.get('encoder/conv1/weight').dims[1]!
  const heads = width / HEAD_SIZE
  const [encoders, decoders] = [source.layers('encoder'), source.layers('decoder')]

  yield i32(GGML_MAGIC, tokens, audio.dims[0]!, width, heads, encoders)
  yield i32(words.dims[0]!, width, heads, decoders, mels, FTYPE_Q8)
  yield i32(mels, MEL_BINS)
  yield encode(melFilters(mels), 'f32')
  yield* vocabularyParts(vocabulary, tokens)

  for (const conv of ['conv1', 'conv2']) {
    yield ggmlTensor(`encoder.${conv}.weight`, source.get(`encoder/${conv}/weight`), 'f16')
    const bias = source.get(`encoder/${conv}/bias`)
    yield ggmlTensor(`encoder.${conv}.bias`, bias, 'f32', [bias.dims[0]!, 1])
  }
  yield ggmlTensor('encoder.positional_embedding', audio, 'f32')
  yield ggmlTensor('decoder.positional_embedding', words, 'f32')
  yield ggmlTensor('decoder.token_embedding.weight', embeddings, 'q8')
  yield* source.norm('encoder.ln_post', 'encoder/layer_norm')
  yield* source.norm('decoder.ln', 'decoder/layer_norm')
  for (let i = 0; i < encoders; i++) yield* blockParts(source, `encoder.blocks.${i}`, `encoder/layer_${i}`, width)
  for (let i = 0; i < decoders; i++) yield* blockParts(source, `decoder.blocks.${i}`, `decoder/layer_${i}`, width)
}

/** One block of the encoder, or of the decoder, which has cross-attention, too. */
function* blockParts(source: Tensors, block: string, layer: string, width: number): Generator<Buffer> {
  yield* source.norm(`${block}.attn_ln`, `${layer}/self_attention/layer_norm`)
  yield* source.selfAttention(`${block}.attn`, `${layer}/self_attention`, width)
  if (block.startsWith('decoder.')) {
    yield* source.norm(`${block}.cross_attn_ln`, `${layer}/attention/layer_norm`)
    yield* source.crossAttention(`${block}.cross_attn`, `${layer}/attention`, width)
  }
  yield* source.norm(`${block}.mlp_ln`, `${layer}/ffn/layer_norm`)
  yield* source.plain(`${block}.mlp.0`, `${layer}/ffn/linear_0`)
  yield* source.plain(`${block}.mlp.2`, `${layer}/ffn/linear_1`)
}

function ggmlTensor(name: string, tensor: Tensor, kind: Kind, dims = tensor.dims): Buffer {
  return Buffer.concat([
    i32(dims.length, Buffer.byteLength(name), TYPE[kind], ...dims.toReversed()),
    Buffer.from(name),
    encode(floats(tensor), kind),
  ])
}

function linear(name: string, weight: Tensor, bias: Tensor | null): Buffer[] {
  const written = ggmlTensor(`${name}.weight`, weight, 'q8')
  return bias ? [written, ggmlTensor(`${name}.bias`, bias, 'f32')] : [written]
}

/** The tensors of a CTranslate2 model, and groups of them as ggml names them. */
class Tensors {
  readonly #tensors: ReadonlyMap<string, Tensor>

  constructor(tensors: ReadonlyMap<string, Tensor>) {
    this.#tensors = tensors
  }

  /** Throws for a name that the model does not have. */
  get(name: string): Tensor {
    const tensor = this.#tensors.get(name)
    if (!tensor) throw new Error(`The Whisper model has no tensor ${name}`)
    return tensor
  }

  layers(side: string): number {
    let count = 0
    while (this.#tensors.has(`${side}/layer_${count}/self_attention/layer_norm/gamma`)) count++
    return count
  }

  norm(name: string, from: string): Buffer[] {
    return [
      ggmlTensor(`${name}.weight`, this.get(`${from}/gamma`), 'f32'),
      ggmlTensor(`${name}.bias`, this.get(`${from}/beta`), 'f32'),
    ]
  }

  plain(name: string, from: string): Buffer[] {
    return linear(name, this.get(`${from}/weight`), this.get(`${from}/bias`))
  }

  /** CTranslate2 stores query, key and value in one tensor; Whisper's keys have no bias. */
  selfAttention(name: string, from: string, width: number): Buffer[] {
    const [weight, bias] = [this.get(`${from}/linear_0/weight`), this.get(`${from}/linear_0/bias`)]
    return [
      ...linear(`${name}.query`, rows(weight, 0, width), rows(bias, 0, width)),
      ...linear(`${name}.key`, rows(weight, width, 2 * width), null),
      ...linear(`${name}.value`, rows(weight, 2 * width, 3 * width), rows(bias, 2 * width, 3 * width)),
      ...this.plain(`${name}.out`, `${from}/linear_1`),
    ]
  }

  crossAttention(name: string, from: string, width: number): Buffer[] {
    const [weight, bias] = [this.get(`${from}/linear_1/weight`), this.get(`${from}/linear_1/bias`)]
    return [
      ...this.plain(`${name}.query`, `${from}/linear_0`),
      ...linear(`${name}.key`, rows(weight, 0, width), null),
      ...linear(`${name}.value`, rows(weight, width, 2 * width), rows(bias, width, 2 * width)),
      ...this.plain(`${name}.out`, `${from}/linear_2`),
    ]
  }
}

/** Slaney's filter bank over a 400-point spectrum, as used in Whisper's training. */
function melFilters(mels: number): Float32Array {
  const toMel = (hz: number) => (hz < 1000 ? (hz * 3) / 200 : 15 + (Math.log(hz / 1000) * 27) / Math.log(6.4))
  const toHz = (mel: number) => (mel < 15 ? (mel * 200) / 3 : 1000 * Math.exp(((mel - 15) * Math.log(6.4)) / 27))
  const top = toMel(SAMPLE_RATE / 2)
  const points = Array.from({ length: mels + 2 }, (_, i) => toHz((top * i) / (mels + 1)))
  const filters = new Float32Array(mels * MEL_BINS)
  for (let mel = 0; mel < mels; mel++) {
    const [low, middle, high] = points.slice(mel, mel + 3) as [number, number, number]
    for (let bin = 0; bin < MEL_BINS; bin++) {
      const hz = bin * (SAMPLE_RATE / 2 / (MEL_BINS - 1))
      const height = Math.max(0, Math.min((hz - low) / (middle - low), (high - hz) / (high - middle)))
      filters[mel * MEL_BINS + bin] = (height * 2) / (high - low)
    }
  }
  return filters
}

/** Tokens use GPT-2's alphabet, in which each byte is a printable character. */
function* vocabularyParts(vocabulary: string, tokens: number): Generator<Buffer> {
  const printable = (byte: number) =>
    (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || (byte >= 174 && byte <= 255)
  const bytes = new Map<string, number>()
  let next = 256
  for (let byte = 0; byte < 256; byte++) bytes.set(String.fromCodePoint(printable(byte) ? byte : next++), byte)
  const count = tokens >= MULTILINGUAL_TOKENS ? TEXT_TOKENS : TEXT_TOKENS - 1
  yield i32(count)
  for (const token of vocabulary.split('\n').slice(0, count)) {
    const data = Buffer.from([...token].map(letter => bytes.get(letter) ?? 63))
    yield i32(data.length)
    yield data
  }
}
