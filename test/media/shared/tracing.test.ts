/** Validation of `traceparent` (W3C Trace Context, level 1, 3.2), and spans of work. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { noTracing, readTraceparent, traced, writeTraceparent } from '../../../media/shared/tracing.ts'
import { keptTracing } from '../../fakes/tracing.ts'

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const SPAN = 'b7ad6b7169203331'

describe('a traceparent', () => {
  it.each([
    [`00-${TRACE}-${SPAN}-01`, true],
    [`00-${TRACE}-${SPAN}-00`, false],
    // Flags that are not known yet are passed over.
    [`00-${TRACE}-${SPAN}-ff`, true],
    [`00-${TRACE}-${SPAN}-fe`, false],
    // A later version is read by its beginning.
    [`cc-${TRACE}-${SPAN}-01`, true],
    [`cc-${TRACE}-${SPAN}-01-what-comes-later`, true],
  ])('parses %s', (text, sampled) => {
    expect(readTraceparent(text)).toEqual({ traceId: TRACE, spanId: SPAN, sampled })
  })

  it.each([
    '',
    `00-${TRACE}-${SPAN}`,
    `00-${TRACE}-${SPAN}-1`,
    `00-${TRACE}-${SPAN}-01-`,
    `00-${TRACE}-${SPAN}-01-more`,
    `00-${TRACE}-${SPAN}-01.more`,
    `cc-${TRACE}-${SPAN}-01.more`,
    `ff-${TRACE}-${SPAN}-01`,
    `0-${TRACE}-${SPAN}-01`,
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    `00-${TRACE.slice(1)}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}0-01`,
    `00-${'0'.repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    ` 00-${TRACE}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}-01\n`,
    // The header was there twice.
    `00-${TRACE}-${SPAN}-01, 00-${TRACE}-${SPAN}-01`,
  ])('rejects %j', text => {
    expect(readTraceparent(text)).toBeNull()
  })

  it('round-trips, and never throws on other input', () => {
    const hex = (length: number) =>
      fc.stringMatching(new RegExp(`^[0-9a-f]{${length}}$`)).filter(text => !/^0+$/.test(text))
    fc.assert(
      fc.property(hex(32), hex(16), fc.boolean(), (traceId, spanId, sampled) => {
        expect(readTraceparent(writeTraceparent({ traceId, spanId, sampled }))).toEqual({ traceId, spanId, sampled })
      }),
    )
    fc.assert(fc.property(fc.anything(), thing => void readTraceparent(thing)))
  })
})

describe('work', () => {
  it('is a span until it succeeds or fails', async () => {
    const tracing = keptTracing()
    const work = traced(tracing, 'good', { parent: `00-${TRACE}-${SPAN}-01` }, async ({ traceparent }) => traceparent)
    expect(await work).toBe(tracing.one('good').traceparent)
    expect(tracing.one('good')).toMatchObject({ traceId: TRACE, parentId: SPAN, error: null })
    const bad = traced(tracing, 'bad', {}, () => Promise.reject(new RangeError('of +4915112345678')))
    await expect(bad).rejects.toThrow(RangeError)
    expect(tracing.one('bad')).toMatchObject({ error: 'RangeError', parentId: null })
    expect(tracing.spans.every(span => span.endMs !== null)).toBe(true)
  })

  it('runs unchanged without tracing', async () => {
    expect(await traced(undefined, 'x', {}, async ({ traceparent }) => traceparent)).toBeNull()
    expect(noTracing.start('x', { parent: `00-${TRACE}-${SPAN}-01` }).traceparent).toBeNull()
  })
})
