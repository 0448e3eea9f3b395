import { type CSSVariablesResolver, createTheme, type MantineColorsTuple } from '@mantine/core'

/** Teal; from shade 6 on it has a contrast of 4.5 against white (WCAG 2.2, 1.4.3). */
const parley: MantineColorsTuple = [
  '#ecfdf8',
  '#d3f8ec',
  '#a6efd9',
  '#71e2c3',
  '#3fcfab',
  '#1cae8c',
  '#0f766e',
  '#0d655e',
  '#0b534e',
  '#08423e',
]

/** Mantine's red is too light at shade 6 for white text. */
const red: MantineColorsTuple = [
  '#fff5f5',
  '#ffe3e3',
  '#ffc9c9',
  '#ffa8a8',
  '#ff8787',
  '#f03e3e',
  '#c92a2a',
  '#b52424',
  '#a01f1f',
  '#861a1a',
]

export const theme = createTheme({
  colors: { parley, red },
  primaryColor: 'parley',
  primaryShade: { light: 6, dark: 6 },
  autoContrast: true,
  defaultRadius: 'md',
  fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif',
  fontFamilyMonospace: 'ui-monospace, "SF Mono", "DejaVu Sans Mono", monospace',
  headings: { fontWeight: '650' },
  respectReducedMotion: true,
})

/**
 * Mantine's dimmed and error colors miss the contrast of 4.5 that small text needs, and its red buttons miss it in dark
 * mode.
 */
export const variables: CSSVariablesResolver = ({ colors }) => ({
  variables: {},
  light: { '--mantine-color-dimmed': colors.gray[7], '--mantine-color-error': colors.red[9] },
  dark: {
    '--mantine-color-dimmed': colors.dark[1],
    '--mantine-color-error': colors.red[4],
    '--mantine-color-red-light-color': colors.red[4],
    '--mantine-color-red-outline': colors.red[4],
  },
})
