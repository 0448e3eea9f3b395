/** What the parts of the bench hand over, and main.ts shows: a figure beside its reference, and a figure against the load. */

/** A figure beside what was measured of something else in the same run, or beside its bound. */
export interface Line {
  name: string
  value: number
  reference: number
  unit: string
  ratio: number
  wanted: string
  ok: boolean
}

/** One figure of one system at several loads or sizes: a curve of the plot, and what growth is reckoned from. */
export interface Series {
  /** Curves of the same figure are drawn together: `media: CPU of a call`. */
  figure: string
  system: string
  /** Of the figure: `CPU s/min`, `ms`, `MB`. */
  unit: string
  /** Of the load: `calls`, `calls/s`, `chunks`. */
  load: string
  /** In order of the load. What was measured while the generator itself was late is not valid. */
  points: { load: number; value: number; valid: boolean }[]
}

/** A peer that is not here, or a load that could not be made: said, never filled in. */
export interface Unmeasured {
  name: string
  why: string
}

export interface Measured {
  lines: Line[]
  series: Series[]
  unmeasured: Unmeasured[]
}

/** What the program is told of a run. */
export interface BenchOptions {
  full: boolean
  tell(text: string): void
}
