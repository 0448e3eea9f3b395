/** Growth of a figure with its load: the exponent of the best-fitting power law. */
import type { Series } from './report.ts'

export interface Growth {
  /** 0: independent of the load; 1: proportional; above 1: does not scale. */
  exponent: number
  from: number
  to: number
}

const LEAST_SPAN = 4

/**
 * Least squares over the logarithms of valid points. Null with fewer than three loads, or with loads too close
 * together.
 */
export function growthOf({ points }: Series): Growth | null {
  const valid = points.filter(({ load, value, valid }) => valid && load > 0 && value > 0)
  const loads = valid.map(({ load }) => load)
  const [from, to] = [Math.min(...loads), Math.max(...loads)]
  if (valid.length < 3 || to / from < LEAST_SPAN) return null
  const xs = loads.map(Math.log)
  const ys = valid.map(({ value }) => Math.log(value))
  const [meanX, meanY] = [mean(xs), mean(ys)]
  const along = xs.reduce((sum, x, i) => sum + (x - meanX) * (ys[i]! - meanY), 0)
  const across = xs.reduce((sum, x) => sum + (x - meanX) ** 2, 0)
  return { exponent: along / across, from, to }
}

const mean = (values: readonly number[]) => values.reduce((sum, one) => sum + one, 0) / values.length
