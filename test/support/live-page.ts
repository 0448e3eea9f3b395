/** Pages on which something goes on: what they play, what they look like meanwhile, what they complain of. */
import { join } from 'node:path'
import type { Page } from 'playwright-core'

/** The greatest level (0–1) of all that the page plays, within so many milliseconds. */
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

/** As `screenshot` of dashboard.ts, but at the size that the page has: a dialogue would not outlive another layout. */
export async function look(page: Page, name: string, schemes: ('light' | 'dark')[] = ['light', 'dark']): Promise<void> {
  const folder = process.env['PARLEY_SCREENSHOTS']
  if (!folder) return
  for (const colorScheme of schemes) {
    await page.emulateMedia({ colorScheme })
    await page.screenshot({ path: join(folder, `${name}-${colorScheme}.png`), fullPage: true })
  }
}

/** A stream of events that is closed with its page is told as a request that failed. */
export const unexpected = (complaints: readonly string[]): string[] =>
  complaints.filter(text => !/\/events: net::ERR_ABORTED$/.test(text))
