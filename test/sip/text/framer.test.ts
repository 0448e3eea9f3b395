import { describe, expect, it } from 'vitest'
import { type StreamEvent, StreamFramer } from '../../../sip/text/framer.ts'
import { message, OPTIONS } from './samples.ts'

const first = message([...OPTIONS, 'Content-Length: 5'], 'hello')
const second = message([...OPTIONS, 'l:0'])

function feed(bytes: Buffer, size: number): StreamEvent[] {
  const framer = new StreamFramer()
  const events: StreamEvent[] = []
  for (let i = 0; i < bytes.length; i += size) events.push(...framer.push(bytes.subarray(i, i + size)))
  return events
}

describe('a byte stream is cut into messages', () => {
  it.each([1, 2, 3, 7, 64, 10_000])('in chunks of %i bytes', size => {
    const events = feed(Buffer.concat([first, second, first]), size)
    expect(events).toEqual([first, second, first].map(bytes => ({ type: 'message', bytes })))
  })

  it.each([1, 2, 3, 100])('separates keep-alives from blank lines in chunks of %i', size => {
    const events = feed(Buffer.concat([Buffer.from('\r\n\r\n'), first, Buffer.from('\r\n\r\n'), second]), size)
    expect(events.map(event => event.type)).toEqual(['ping', 'message', 'ping', 'message'])
    const lone = feed(Buffer.concat([Buffer.from('\r\n'), first]), size)
    expect(lone.map(event => event.type)).toEqual(['message'])
  })

  it('accepts a message without Content-Length', () => {
    expect(feed(message(OPTIONS), 50)).toHaveLength(1)
  })

  it.each([
    ['two lengths', message([...OPTIONS, 'Content-Length: 1', 'Content-Length: 2']), 'bad_content_length'],
    ['no number', message([...OPTIONS, 'Content-Length: x']), 'bad_content_length'],
    ['a huge body', message([...OPTIONS, 'Content-Length: 99999999']), 'body_too_large'],
    ['an endless head', Buffer.alloc(70_000, 65), 'head_too_large'],
  ])('closes the stream at %s', (_name, bytes, code) => {
    const framer = new StreamFramer()
    expect(framer.push(bytes)).toEqual([{ type: 'broken', code }])
    expect(framer.push(first)).toEqual([])
  })
})
