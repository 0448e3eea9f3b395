/** Helpers for live pages: their audio, screenshots and errors. */
import { join } from 'node:path'
import type { Page } from 'playwright-core'

/** The peak level (0–1) of the page's audio within `ms` milliseconds. */
export async function loudest(page: Page, ms: number): Promise<number> {
  return page.evaluate(`(async () => {
    const context = new AudioContext()
    const meter = context.createAnalyser()
    const known = new Set()
    const samples = new Float32Array(meter.fftSize)
    let most = 0
    for (const end = performance.now() + ${ms}; performance.now() < end; ) {
      await new Promise(requestAnimationFrame)
      for (const { srcObject } of document.querySelectorAll('audio')) {
        if (!srcObject || known.has(srcObject)) continue
        known.add(srcObject)
        context.createMediaStreamSource(srcObject).connect(meter)
      }
      meter.getFloatTimeDomainData(samples)
      most = Math.max(most, ...samples.map(Math.abs))
    }
    await context.close()
    return most
  })()`)
}

/** Like `screenshot` of dashboard.ts, but without resizing: an open dialog would not survive another layout. */
export async function look(page: Page, name: string, schemes: ('light' | 'dark')[] = ['light', 'dark']): Promise<void> {
  const folder = process.env['PARLEY_SCREENSHOTS']
  if (!folder) return
  for (const colorScheme of schemes) {
    await page.emulateMedia({ colorScheme })
    await page.screenshot({ path: join(folder, `${name}-${colorScheme}.png`), fullPage: true })
  }
}

/** A closed event stream counts as a failed request; this filters it out. */
export const unexpected = (complaints: readonly string[]): string[] =>
  complaints.filter(text => !/\/events: net::ERR_ABORTED$/.test(text))
