/** The ladder of a SIP trace. */
import { expect, it } from 'vitest'
import { ladderOf } from '../../control/telephony/trace/ladder.ts'

it('escapes direction overrides in messages', () => {
  const text = 'SIP/2.0 603 \u2066\u2067evil\u2069\u200f\u200e\u061c\u202e\u001b[2J\r\nX: \u2068y\u0007\r\n\r\n'
  const ladder = ladderOf({
    title: 'T',
    messages: [{ at: 0, sent: false, source: '1:1', target: '2:2', transport: 'udp', generated: false, text }],
    omitted: 0,
    diagnosis: null,
  })
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there
  expect(ladder).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/)
})
