/** The results of the bench's parts, printed by main.ts: a figure next to its reference, and a figure over the load. */

/** A figure next to a reference measured in the same run, or next to its bound. */
export interface Line {
  name: string
  value: number
  reference: number
  unit: string
  ratio: number
  wanted: string
  ok: boolean
}

/** One figure of one system at several loads or sizes: a curve of the plot, and the input of the growth estimate. */
export interface Series {
  /** Curves of the same figure are drawn together: `media: CPU of a call`. */
  figure: string
  system: string
  /** Unit of the figure: `CPU s/min`, `ms`, `MB`. */
  unit: string
  /** Unit of the load: `calls`, `calls/s`, `chunks`. */
  load: string
  /** In order of the load. A point is invalid when the generator itself was late. */
  points: { load: number; value: number; valid: boolean }[]
}

/** A peer that is not installed, or a load that could not be generated: reported, never estimated. */
export interface Unmeasured {
  name: string
  why: string
}

export interface Measured {
  lines: Line[]
  series: Series[]
  unmeasured: Unmeasured[]
}

/** Command-line options of a run. */
export interface BenchOptions {
  full: boolean
  report(text: string): void
}
