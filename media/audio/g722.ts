/**
 * G.722 (ITU-T G.722, 64 kbit/s, mode 1): 16 kHz audio in two bands of ADPCM, one byte for two samples. The steps are
 * named after the Recommendation's blocks (clauses 5.2 and 6.2); arithmetic is 16-bit with saturation, as specified
 * there.
 */

const QMF = Int32Array.of(3, -11, 12, 32, -210, 951, 3876, -805, 362, -156, 53, -11)
/** Past samples that the filters need besides the two current ones. */
const QMF_PAST = 22

/** Decision levels of the lower band's 6-bit quantizer. */
const Q6 = [
  0, 35, 72, 110, 150, 190, 233, 276, 323, 370, 422, 473, 530, 587, 650, 714, 786, 858, 940, 1023, 1121, 1219, 1339,
  1458, 1612, 1765, 1980, 2195, 2557, 2919,
]
/** Codes of the lower band by decision interval, for negative and positive differences. */
const CODE_NEGATIVE = [
  0, 63, 62, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4,
]
const CODE_POSITIVE = [
  0, 61, 60, 59, 58, 57, 56, 55, 54, 53, 52, 51, 50, 49, 48, 47, 46, 45, 44, 43, 42, 41, 40, 39, 38, 37, 36, 35, 34, 33,
  32,
]
/** Inverse quantizers: 6 and 4 bits of the lower band, 2 of the higher band. */
const INVERSE_6 = [
  -136, -136, -136, -136, -24808, -21904, -19008, -16704, -14984, -13512, -12280, -11192, -10232, -9360, -8576, -7856,
  -7192, -6576, -6000, -5456, -4944, -4464, -4008, -3576, -3168, -2776, -2400, -2032, -1688, -1360, -1040, -728, 24808,
  21904, 19008, 16704, 14984, 13512, 12280, 11192, 10232, 9360, 8576, 7856, 7192, 6576, 6000, 5456, 4944, 4464, 4008,
  3576, 3168, 2776, 2400, 2032, 1688, 1360, 1040, 728, 432, 136, -432, -136,
]
const INVERSE_4 = [0, -20456, -12896, -8968, -6288, -4240, -2584, -1200, 20456, 12896, 8968, 6288, 4240, 2584, 1200, 0]
const INVERSE_2 = [-7408, -1616, 7408, 1616]
/** Log scale factor: the step of each code, and the antilogarithm. */
const STEP_LOW = [-60, 3042, 1198, 538, 334, 172, 58, -30, 3042, 1198, 538, 334, 172, 58, -30, -60]
const STEP_HIGH = [798, -214, 798, -214]
const ANTILOG = [
  2048, 2093, 2139, 2186, 2233, 2282, 2332, 2383, 2435, 2489, 2543, 2599, 2656, 2714, 2774, 2834, 2896, 2960, 3025,
  3091, 3158, 3228, 3298, 3371, 3444, 3520, 3597, 3676, 3756, 3838, 3922, 4008,
]

interface BandKind {
  steps: readonly number[]
  /** Upper bound of the log scale factor. */
  most: number
  /** Shift of the antilogarithm. */
  shift: number
  firstScale: number
}
const LOW: BandKind = { steps: STEP_LOW, most: 18_432, shift: 8, firstScale: 32 }
const HIGH: BandKind = { steps: STEP_HIGH, most: 22_528, shift: 10, firstScale: 8 }

const saturate = (value: number) => (value > 32_767 ? 32_767 : value < -32_768 ? -32_768 : value)
const clamp = (value: number, low: number, high: number) => (value > high ? high : value < low ? low : value)

/** One band's adaptive quantizer scale and predictor, identical in encoder and decoder. */
class Band {
  /** DETL, DETH. */
  scale: number
  /** SL, SH: the predicted sample. */
  expected = 0
  readonly #kind: BandKind
  #logScale = 0
  #poleSum = 0
  #pole1 = 0
  #pole2 = 0
  #rebuilt1 = 0
  #rebuilt2 = 0
  #partial1 = 0
  #partial2 = 0
  /** Difference signals and the six zeros; index 0 is the current sample. */
  readonly #differences = new Int32Array(7)
  readonly #zeros = new Int32Array(7)

  constructor(kind: BandKind) {
    this.#kind = kind
    this.scale = kind.firstScale
  }

  /** Returns the quantized difference of a code. */
  difference(inverse: readonly number[], code: number): number {
    return (this.scale * inverse[code]!) >> 15
  }

  /** LOGSCL/SCALEL, LOGSCH/SCALEH, then the predictor. */
  adapt(code: number, difference: number): void {
    const { steps, most, shift } = this.#kind
    this.#logScale = clamp(((this.#logScale * 127) >> 7) + steps[code]!, 0, most)
    const mantissa = ANTILOG[(this.#logScale >> 6) & 31]!
    const down = shift - (this.#logScale >> 11)
    this.scale = (down < 0 ? mantissa << -down : mantissa >> down) << 2
    this.#predict(difference)
  }

  #predict(difference: number): void {
    const rebuilt = saturate(this.expected + difference)
    const partial = saturate(this.#poleSum + difference)
    this.#adaptPoles(partial)
    this.#adaptZeros(difference)
    this.#rebuilt2 = this.#rebuilt1
    this.#rebuilt1 = rebuilt
    this.#partial2 = this.#partial1
    this.#partial1 = partial
    const poles = saturate(
      ((this.#pole1 * saturate(2 * this.#rebuilt1)) >> 15) + ((this.#pole2 * saturate(2 * this.#rebuilt2)) >> 15),
    )
    let zeros = 0
    for (let i = 6; i > 0; i--) zeros += (this.#zeros[i]! * saturate(2 * this.#differences[i]!)) >> 15
    this.#poleSum = saturate(zeros)
    this.expected = saturate(poles + this.#poleSum)
  }

  /** UPPOL2, UPPOL1: limited to the range in which the filter is stable. */
  #adaptPoles(partial: number): void {
    const like1 = partial < 0 === this.#partial1 < 0
    const like2 = partial < 0 === this.#partial2 < 0
    const first = saturate(this.#pole1 * 4)
    const turned = like1 ? Math.min(-first, 32_767) : first
    const pole2 = clamp((like2 ? 128 : -128) + (turned >> 7) + ((this.#pole2 * 32_512) >> 15), -12_288, 12_288)
    const bound = saturate(15_360 - pole2)
    const pole1 = saturate((like1 ? 192 : -192) + ((this.#pole1 * 32_640) >> 15))
    this.#pole1 = clamp(pole1, -bound, bound)
    this.#pole2 = pole2
  }

  /** UPZERO and the delay line. */
  #adaptZeros(difference: number): void {
    const step = difference === 0 ? 0 : 128
    for (let i = 6; i > 0; i--) {
      const like = this.#differences[i]! < 0 === difference < 0
      this.#zeros[i] = saturate((like ? step : -step) + ((this.#zeros[i]! * 32_640) >> 15))
    }
    this.#differences[0] = difference
    for (let i = 6; i > 0; i--) this.#differences[i] = this.#differences[i - 1]!
  }
}

/** Encodes frames of an even number of samples at 16 kHz; drops an odd last sample. */
export class G722Encoder {
  readonly #low = new Band(LOW)
  readonly #high = new Band(HIGH)
  #past = new Int32Array(QMF_PAST)

  encode(pcm: Int16Array): Uint8Array {
    const bytes = new Uint8Array(pcm.length >> 1)
    const line = new Int32Array(QMF_PAST + 2 * bytes.length)
    line.set(this.#past)
    line.set(pcm.subarray(0, 2 * bytes.length), QMF_PAST)
    for (let i = 0; i < bytes.length; i++) {
      let even = 0
      let odd = 0
      for (let k = 0, at = 2 * i; k < 12; k++, at += 2) {
        odd += line[at]! * QMF[k]!
        even += line[at + 1]! * QMF[11 - k]!
      }
      // Two filters of gain 4096, and samples of 15 bits.
      bytes[i] = (this.#encodeHigh((even - odd) >> 14) << 6) | this.#encodeLow((even + odd) >> 14)
    }
    this.#past = line.slice(-QMF_PAST)
    return bytes
  }

  #encodeLow(sample: number): number {
    const band = this.#low
    const error = saturate(sample - band.expected)
    const size = error >= 0 ? error : -(error + 1)
    let i = 1
    while (i < 30 && size >= (Q6[i]! * band.scale) >> 12) i++
    const code = (error < 0 ? CODE_NEGATIVE : CODE_POSITIVE)[i]!
    // The predictor uses four of the six bits, so that a network may use the others.
    band.adapt(code >> 2, band.difference(INVERSE_4, code >> 2))
    return code
  }

  #encodeHigh(sample: number): number {
    const band = this.#high
    const error = saturate(sample - band.expected)
    const size = error >= 0 ? error : -(error + 1)
    const outer = size >= (564 * band.scale) >> 12
    const code = error < 0 ? (outer ? 0 : 1) : outer ? 2 : 3
    band.adapt(code, band.difference(INVERSE_2, code))
    return code
  }
}

/** Decodes each byte to two samples at 16 kHz. */
export class G722Decoder {
  readonly #low = new Band(LOW)
  readonly #high = new Band(HIGH)
  #past = new Int32Array(QMF_PAST)

  decode(bytes: Uint8Array): Int16Array {
    const pcm = new Int16Array(bytes.length * 2)
    const line = new Int32Array(QMF_PAST + pcm.length)
    line.set(this.#past)
    for (let i = 0; i < bytes.length; i++) {
      const low = this.#decodeLow(bytes[i]! & 0x3f)
      const high = this.#decodeHigh(bytes[i]! >> 6)
      line[QMF_PAST + 2 * i] = low + high
      line[QMF_PAST + 2 * i + 1] = low - high
      let first = 0
      let second = 0
      for (let k = 0, at = 2 * i; k < 12; k++, at += 2) {
        second += line[at]! * QMF[k]!
        first += line[at + 1]! * QMF[11 - k]!
      }
      pcm[2 * i] = saturate(first >> 11)
      pcm[2 * i + 1] = saturate(second >> 11)
    }
    this.#past = line.slice(-QMF_PAST)
    return pcm
  }

  #decodeLow(code: number): number {
    const band = this.#low
    const sample = clamp(band.expected + band.difference(INVERSE_6, code), -16_384, 16_383)
    band.adapt(code >> 2, band.difference(INVERSE_4, code >> 2))
    return sample
  }

  #decodeHigh(code: number): number {
    const band = this.#high
    const difference = band.difference(INVERSE_2, code)
    const sample = clamp(band.expected + difference, -16_384, 16_383)
    band.adapt(code, difference)
    return sample
  }
}
