/** Draws the bench's curves as one SVG: one panel per figure, the load on a logarithmic axis, one colour per system. */
import type { Series } from './report.ts'

const PANEL = { width: 460, height: 300, left: 58, right: 16, top: 40, bottom: 64 }
const COLUMNS = 2
/** Okabe and Ito (2008): distinguishable by colour-blind people. */
const COLOURS = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9', '#000000']
const TICKS = 4

export function plot(series: readonly Series[]): string {
  const drawn = series.filter(({ points }) => points.length > 1)
  const figures = [...new Set(drawn.map(({ figure }) => figure))]
  const systems = [...new Set(drawn.map(({ system }) => system))]
  const colourOf = (system: string) => COLOURS[systems.indexOf(system) % COLOURS.length]!
  const rows = Math.ceil(figures.length / COLUMNS)
  const panels = figures.map((figure, i) => {
    const [x, y] = [(i % COLUMNS) * PANEL.width, Math.floor(i / COLUMNS) * PANEL.height]
    const curves = drawn.filter(one => one.figure === figure)
    return `<g transform="translate(${x} ${y})">${panel(figure, curves, colourOf)}</g>`
  })
  const [width, height] = [COLUMNS * PANEL.width, rows * PANEL.height]
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="sans-serif" font-size="11">`,
    '<title>What each system takes as the load grows</title>',
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
    ...panels,
    '</svg>\n',
  ].join('\n')
}

function panel(figure: string, curves: readonly Series[], colourOf: (system: string) => string): string {
  const points = curves.flatMap(one => one.points)
  const loads = [...new Set(points.map(({ load }) => load))].sort((a, b) => a - b)
  const most = niceTop(Math.max(...points.map(({ value }) => value)))
  const [first, last] = [Math.log(loads[0]!), Math.log(loads.at(-1)!)]
  const inner = { width: PANEL.width - PANEL.left - PANEL.right, height: PANEL.height - PANEL.top - PANEL.bottom }
  const x = (load: number) => PANEL.left + (inner.width * (Math.log(load) - first)) / (last - first || 1)
  const y = (value: number) => PANEL.top + inner.height * (1 - value / most)
  const { unit, load } = curves[0]!
  return [
    `<text x="${PANEL.left}" y="20" font-size="13" font-weight="bold">${escaped(figure)}, ${escaped(unit)}</text>`,
    ...Array.from({ length: TICKS + 1 }, (_, i) => (most * i) / TICKS).map(
      value =>
        `<path d="M${PANEL.left} ${y(value)}h${inner.width}" stroke="#ddd"/><text x="${PANEL.left - 6}" y="${y(value) + 4}" text-anchor="end">${short(value)}</text>`,
    ),
    ...labelled(loads, x).map(
      one => `<text x="${x(one)}" y="${PANEL.top + inner.height + 16}" text-anchor="middle">${short(one)}</text>`,
    ),
    `<text x="${PANEL.left + inner.width}" y="${PANEL.top + inner.height + 32}" text-anchor="end" fill="#555">${escaped(load)}</text>`,
    ...curves.map((one, i) => curve(one, i, colourOf(one.system), x, y)),
  ].join('\n')
}

function curve(
  { system, points }: Series,
  nth: number,
  colour: string,
  x: (load: number) => number,
  y: (value: number) => number,
): string {
  const path = points.map(({ load, value }, i) => `${i === 0 ? 'M' : 'L'}${x(load).toFixed(1)} ${y(value).toFixed(1)}`)
  const dots = points.map(
    ({ load, value, valid }) =>
      `<circle cx="${x(load).toFixed(1)}" cy="${y(value).toFixed(1)}" r="3.5" fill="${valid ? colour : '#fff'}" stroke="${colour}"/>`,
  )
  const [legendX, legendY] = [PANEL.left + (nth % 2) * 190, PANEL.height - 18 + Math.floor(nth / 2) * 13 - 13]
  return [
    `<path d="${path.join('')}" fill="none" stroke="${colour}" stroke-width="2"/>`,
    ...dots,
    `<rect x="${legendX}" y="${legendY - 8}" width="9" height="9" fill="${colour}"/><text x="${legendX + 14}" y="${legendY}">${escaped(system)}</text>`,
  ].join('')
}

/** Omits labels that would overlap. */
function labelled(loads: readonly number[], x: (load: number) => number): number[] {
  const kept: number[] = []
  for (const load of loads) if (kept.length === 0 || x(load) - x(kept.at(-1)!) > 34) kept.push(load)
  return kept
}

/** 1, 2, 2.5 or 5 times a power of ten, not below the value. */
function niceTop(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value || 1))
  return ([1, 2, 2.5, 5, 10].find(step => step * power >= value) ?? 10) * power
}

const short = (value: number) =>
  value >= 1e6
    ? `${+(value / 1e6).toPrecision(3)}M`
    : value >= 1e4
      ? `${+(value / 1e3).toPrecision(3)}k`
      : `${+value.toPrecision(3)}`
const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
