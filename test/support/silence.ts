import { afterEach, beforeEach, expect, vi } from 'vitest'

/** Fails each test of the file that prints to the console. */
export function expectNoOutput(): void {
  let printed: ReturnType<typeof vi.spyOn>[]
  beforeEach(() => {
    printed = (['log', 'warn', 'error', 'info'] as const).map(name => vi.spyOn(console, name))
  })
  afterEach(() => {
    for (const spy of printed) expect(spy).not.toHaveBeenCalled()
    vi.restoreAllMocks()
  })
}
