/**
 * A stacked bar chart by day. The only importer of uPlot; load it lazily. Show a table with the same data for screen
 * readers.
 */
import { Group, Stack, Text, useComputedColorScheme, useMantineTheme } from '@mantine/core'
import { useEffect, useMemo, useRef } from 'react'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'

export interface BarSeries {
  name: string
  values: number[]
}

interface BarChartProps {
  /** Accessible name, one sentence. */
  label: string
  /** One entry per bar: the day and the label below the bar. */
  days: { date: string; short: string }[]
  /** Stacked series, the first at the bottom. */
  series: BarSeries[]
  format: (value: number) => string
}

const HEIGHT = 220
const AXIS_WIDTH = 76
const DAYS_HEIGHT = 30
const MOST_COLORS = 3

/** The colors differ in lightness too, so that color-blind users can tell them apart in both color schemes. */
function useColors() {
  const { colors } = useMantineTheme()
  const dark = useComputedColorScheme('light') === 'dark'
  return useMemo(() => {
    const of = (name: string, light: number, night: number) => colors[name]![dark ? night : light]!
    return {
      bars: [of('parley', 7, 5), of('blue', 5, 3), of('orange', 4, 2)].slice(0, MOST_COLORS),
      text: of(dark ? 'dark' : 'gray', 7, 1),
      grid: of(dark ? 'dark' : 'gray', 2, 4),
    }
  }, [colors, dark])
}

type Colors = ReturnType<typeof useColors>

/** Adds to each series the values of the series below it. */
function stacked(series: readonly BarSeries[]): number[][] {
  const sums: number[][] = []
  for (const { values } of series) sums.push(values.map((value, day) => value + (sums.at(-1)?.[day] ?? 0)))
  return sums
}

function optionsFor({ days, series, format }: BarChartProps, colors: Colors, width: number): uPlot.Options {
  const bars = uPlot.paths.bars!({ size: [0.8, 40], align: 0, gap: 1 })
  const axis = { stroke: colors.text, grid: { stroke: colors.grid, width: 1 }, ticks: { show: false } }
  return {
    width,
    height: HEIGHT,
    legend: { show: false },
    cursor: { show: false },
    scales: { x: { time: false, range: [-0.5, days.length - 0.5] }, y: { range: (_, __, most) => [0, most || 1] } },
    axes: [
      {
        ...axis,
        grid: { show: false },
        space: 70,
        size: DAYS_HEIGHT,
        // Place ticks on whole days only: for short periods uPlot would place them at half days.
        splits: (_, __, ___, ____, step) => wholeDays(days.length, Math.max(1, Math.ceil(step))),
        values: (_, splits) => splits.map(day => days[day]?.short ?? ''),
      },
      { ...axis, size: AXIS_WIDTH, values: (_, splits) => splits.map(format) },
    ],
    series: [
      {},
      // Draw the tallest sum first and the lower ones over it.
      ...series
        .map((_, index) => ({ fill: colors.bars[index]!, width: 0, paths: bars, points: { show: false } }))
        .reverse(),
    ],
  }
}

const wholeDays = (count: number, step: number) =>
  Array.from({ length: Math.ceil(count / step) }, (_, index) => index * step)

export default function BarChart(props: BarChartProps) {
  const { label, days, series } = props
  const colors = useColors()
  const place = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const element = place.current
    if (element === null) return
    const data = [days.map((_, index) => index), ...stacked(series).reverse()] as uPlot.AlignedData
    const plot = new uPlot(optionsFor(props, colors, element.clientWidth), data, element)
    const watch = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: HEIGHT }))
    watch.observe(element)
    return () => {
      watch.disconnect()
      plot.destroy()
    }
  }, [props, colors, days, series])
  return (
    <Stack gap="xs">
      <div ref={place} role="img" aria-label={label} style={{ height: HEIGHT, overflow: 'hidden' }} />
      <Group gap="md" justify="center" aria-hidden>
        {series.map(({ name }, index) => (
          <Group gap={6} key={name}>
            <div style={{ width: 12, height: 12, borderRadius: 3, background: colors.bars[index] }} />
            <Text size="sm">{name}</Text>
          </Group>
        ))}
      </Group>
    </Stack>
  )
}
